// The journal's format, and a reader of its records from the oldest to the newest.
//
// Format: docs/journal.md. A journal that is opened here is only read: nothing is written to its memory, and
// a worker may write to it meanwhile (`moved` returns whether that has touched what was read). Called by:
// Journal, which adds the writing, and boundary files (executor/export/), which are read without a worker.
//
// Positions are logical and only grow: chunk number in the list times chunk size, plus offset. The list
// (chunk number -> physical chunk) is a ring in the header, so freeing at the head costs nothing.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shared/shared_map.h"

namespace jitc {

enum class RecordKind : uint16_t {
  op = 1,         // a device op as received
  boundary = 2,   // part of the encoded BoundaryState
  result = 3,     // of an op that waits
  rollback = 4,   // boundaries after the one named by sequence are void
  step = 5,       // part of the encoded StepState (pre-step copies)
  chunk_end = 6,  // nothing more in this chunk
  reported = 7,   // progress of streams that the client heard of
};

struct RecordHeader {
  uint32_t checksum;  // CRC-32C of the rest of the header and the payload
  RecordKind kind;
  uint16_t reserved;
  uint32_t size;  // payload in bytes
  uint16_t part, parts;
  uint64_t position;  // its own: a stale record of an earlier use of the chunk is noticed
  uint64_t sequence;  // of the op; of a boundary, rollback or step: its number

  std::span<const std::byte> payload() const {
    return {reinterpret_cast<const std::byte*>(this) + sizeof(RecordHeader), size};
  }
};
static_assert(sizeof(RecordHeader) == 32);

/// Returns the CRC-32C of a record without the checksum itself; size: of the payload behind it.
uint32_t checksum_of(const RecordHeader& record, uint32_t size);

class RecordLog {
 public:
  static constexpr uint32_t kFormat = 13;
  /// Numbers of older boundaries that stay.
  using Reserves = std::array<uint64_t, 2>;
  static constexpr uint64_t kChunkBytes = (4u << 20) + (64u << 10);  // a record of any size fits

  struct Place {
    std::string path;
    uint64_t bytes = 0;
  };
  /// Opens a log for reading. Throws Error with what is wrong; the records are not checked (walk).
  RecordLog(const Place& memory, const Place& spill);

  /// Returns the record at position, and moves position to where it really starts; nullptr at the tail.
  const RecordHeader* at(uint64_t& position) const;
  static uint64_t after(const RecordHeader& record);
  /// An intact record: a copy of its header, and where its payload lies.
  struct Checked {
    RecordHeader header;
    std::span<const std::byte> payload;
  };
  using Visitor = std::function<void(const Checked&)>;
  /// Checks every record, oldest first, also at the ends of chunks, and hands each on. Returns an empty text
  /// if all are intact, else what is wrong; then the visitor has seen those before it. Safe while a worker
  /// overwrites them.
  std::string walk(const Visitor& visit) const;
  /// Checks the same without a visitor.
  std::string damage() const {
    return walk([](const Checked&) {});
  }
  /// Returns whether a worker has given up records since this was opened: they may be overwritten.
  bool moved() const;

  uint64_t head() const { return head_.load(std::memory_order_acquire); }
  uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  uint64_t first_boundary() const { return first_boundary_.load(std::memory_order_acquire); }
  /// Returns whether the boundary still exists.
  bool has_boundary(uint64_t number) const;
  /// Returns the same, by the current header.
  bool still_has_boundary(uint64_t number) const;

 protected:
  /// Maps the memory with the given access; reads none of its content.
  RecordLog(const Place& memory, const Place& spill, SharedMap::Access access);

  struct Header {
    uint64_t magic;
    uint32_t format, op_format;
    uint64_t chunk_bytes, memory_chunks, spill_chunks;
    // Guarded words (checksum.h).
    std::atomic<uint64_t> head, tail;
    std::atomic<uint64_t> first_boundary;  // records of boundaries before this one are void,
    std::atomic<uint64_t> reserves[2];     // but for these
  };  // then a ring: physical chunk of list entry n at n % chunks
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  Header& header() const { return *reinterpret_cast<Header*>(memory_.data()); }
  std::atomic<uint32_t>& listed_chunk(uint64_t number) const {
    return reinterpret_cast<std::atomic<uint32_t>*>(memory_.data() + sizeof(Header))[number % chunks()];
  }
  uint64_t chunks() const { return memory_chunks_ + spill_chunks_; }
  std::byte* address(uint64_t position) const;
  static constexpr uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
  }
  /// Formats the memory as an empty log.
  void write_header() const;
  /// Takes over the content of the memory. Throws Error.
  void read_header();

  SharedMap memory_, spill_;
  uint64_t memory_chunks_ = 0, spill_chunks_ = 0, data_offset_ = 0;
  uint64_t listed_ = 0;                        // list entries made: the next one's number
  std::vector<std::atomic<uint32_t>> chunks_;  // the ring
  std::atomic<uint64_t> head_{0}, tail_{0}, first_boundary_{0};
  Reserves reserves_{};  // owned by the thread that sets them

 private:
  std::optional<Checked> checked(uint64_t position) const;
  void check_header() const;
  void read_list();
};

}  // namespace jitc

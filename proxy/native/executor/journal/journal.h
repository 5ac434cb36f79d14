// The journal of one session: a log of checksummed records in shared memory that outlives the worker.
//
// Format: docs/journal.md. Called by Session: append from any thread, reading from the dispatcher.
// Promises: a record is either published whole or not at all, whatever instruction the process is killed
// at; memory before the head is used again, and goes back to the system when less is needed; append never
// blocks and never grows over the limit; any bit of it that has changed since it was written is noticed when
// the journal is opened, and by damage().
//
// Positions are logical and only grow: chunk number in the list times chunk size, plus offset. The list
// (chunk number -> physical chunk) is a ring in the header, so freeing at the head costs nothing. What the
// header says is read when the journal is opened; afterwards this process goes by its own memory.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/shared/shared_map.h"
#include "jitc/generated_ops.h"

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

class Journal {
 public:
  static constexpr uint32_t kFormat = 13;
  /// Numbers of older boundaries that stay.
  using Reserves = std::array<uint64_t, 2>;
  static constexpr uint64_t kChunkBytes = (4u << 20) + (64u << 10);  // a record of any size fits
  using Bytes = std::span<const std::byte>;

  struct Place {
    std::string path;
    uint64_t bytes = 0;
  };
  /// Creates an empty journal, or opens (existing) and verifies one. Throws Error with what is wrong.
  Journal(const Place& memory, const Place& spill, bool existing);

  /// Appends and publishes one record made of pieces. False: full.
  bool append(RecordKind kind, uint64_t sequence, std::initializer_list<Bytes> pieces, uint16_t part = 0,
              uint16_t parts = 1, uint64_t* position = nullptr);
  /// Appends a document of any size as numbered parts. False: full (readers ignore an incomplete set).
  bool append_parts(RecordKind kind, uint64_t sequence, Bytes document);
  /// The record at position, which is moved on to where it really starts; nullptr at the tail.
  const RecordHeader* at(uint64_t& position) const;
  static uint64_t after(const RecordHeader& record);
  /// Forgets everything before position.
  void truncate(uint64_t position);
  /// Looks at every record again: empty when all are as they were written, else what is wrong.
  std::string damage() const;

  uint64_t head() const { return head_.load(std::memory_order_acquire); }
  uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  uint64_t bytes() const { return tail() - head(); }
  /// Boundaries before this one are gone, also where their records still are, but for these reserves (0:
  /// none). Before their copies are reused.
  void set_first_boundary(uint64_t number, const Reserves& reserves);
  uint64_t first_boundary() const { return first_boundary_.load(std::memory_order_acquire); }
  /// Whether it is not gone.
  bool has_boundary(uint64_t number) const;
  uint64_t capacity() const { return chunks() * kChunkBytes; }

 private:
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
  std::byte* chunk(uint32_t physical) const;
  std::byte* address(uint64_t position) const;
  void create();
  void open();
  void check_header() const;
  void read_list();
  void write(RecordKind kind, uint64_t position, uint64_t sequence, std::initializer_list<Bytes> pieces,
             uint16_t part, uint16_t parts) const;
  bool next_chunk(uint64_t number);
  void release_unneeded(size_t used);
  void release(uint32_t physical) const;

  SharedMap memory_, spill_;
  uint64_t memory_chunks_ = 0, spill_chunks_ = 0, data_offset_ = 0;
  mutable std::mutex mutex_;                   // append, truncate, damage
  std::vector<bool> free_;                     // by physical chunk
  std::vector<bool> dirty_;                    // free, but its memory not given back yet
  size_t needed_ = 0;                          // chunks at once, of late
  uint64_t listed_ = 0;                        // list entries made: the next one's number
  std::vector<std::atomic<uint32_t>> chunks_;  // the ring
  std::atomic<uint64_t> head_{0}, tail_{0}, first_boundary_{0};
  Reserves reserves_{};  // the thread's that sets them
};

}  // namespace jitc

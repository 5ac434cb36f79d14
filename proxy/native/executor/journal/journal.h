// The journal of one session: a log of checksummed records in shared memory that outlives the worker.
//
// Called by Session: append from any thread, reading from the dispatcher. Promises: a record is either
// published whole or not at all, at any instruction the process is killed at; memory before the head is used
// again, and returned to the system when less is needed; append never blocks and never grows over the limit;
// any bit that has changed since it was written is noticed when the journal is opened, and by damage().
//
// The header is read when the journal is opened; afterwards this process relies on its own memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "record_log.h"

namespace jitc {

class Journal : public RecordLog {
 public:
  using Bytes = std::span<const std::byte>;

  /// Creates an empty journal, or opens (existing) and verifies one. Throws Error with what is wrong.
  Journal(const Place& memory, const Place& spill, bool existing);

  /// Appends and publishes one record made of pieces. Returns false if the journal is full.
  bool append(RecordKind kind, uint64_t sequence, std::initializer_list<Bytes> pieces, uint16_t part = 0,
              uint16_t parts = 1, uint64_t* position = nullptr);
  /// Appends a document as numbered parts (readers ignore an incomplete set). Returns false if it is full.
  bool append_parts(RecordKind kind, uint64_t sequence, Bytes document);
  /// Forgets everything before position.
  void truncate(uint64_t position);
  /// Checks like RecordLog::damage, while other threads append.
  std::string damage() const;

  uint64_t bytes() const { return tail() - head(); }
  uint64_t capacity() const { return chunks() * kChunkBytes; }
  /// Voids boundaries before this one, also where their records still exist, except these reserves (0: none).
  /// Called before their copies are reused.
  void set_first_boundary(uint64_t number, const Reserves& reserves);

 private:
  void open();
  void write(RecordKind kind, uint64_t position, uint64_t sequence, std::initializer_list<Bytes> pieces,
             uint16_t part, uint16_t parts) const;
  bool next_chunk(uint64_t number);
  void release_unneeded(size_t used);
  void release(uint32_t physical) const;

  mutable std::mutex mutex_;  // append, truncate, damage
  std::vector<bool> free_;    // by physical chunk
  std::vector<bool> dirty_;   // free, but its memory not yet returned
  size_t needed_ = 0;         // chunks at once, of late
};

}  // namespace jitc

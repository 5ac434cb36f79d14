// Queue of one session's ops that the worker has not acknowledged yet, sent or not.
//
// Called by: session_client.cpp, always under the session's lock. Promises: no I/O; sequence numbers without
// gaps; an op stays here until it is acknowledged, so that it can be sent again to the next worker; bytes
// handed out for sending stay in place until they are acknowledged.
//
// Records lie back to back in chunks. A cursor over them marks what was sent: a batch lies between the cursor
// and the end. Acknowledged chunks are reused, so steady traffic touches the same memory.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "jitc/generated_ops.h"

namespace jitc::session {

class SendQueue {
 public:
  struct Chunk {
    explicit Chunk(size_t size) : bytes(std::make_unique_for_overwrite<std::byte[]>(size)), capacity(size) {}
    std::unique_ptr<std::byte[]> bytes;
    size_t capacity, size = 0;
    uint64_t first = 0, last = 0;  // sequences; first 0: empty
  };
  enum class Acknowledged { good, unknown_op, lost_op };

  /// Size from which a record has a chunk of its own, filled outside the lock.
  static constexpr size_t kLarge = size_t{64} << 10;

  static size_t record_size(size_t op, size_t payload) { return (op + payload + 7) & ~size_t{7}; }
  /// Writes a record: the op's header gets its size; the sequence is filled in by append.
  static void write_record(std::byte* out, const ops::OpHeader* op, size_t op_size,
                           std::span<const std::byte> payload);

  /// Appends a small record; returns its sequence.
  uint64_t append(const ops::OpHeader* op, size_t op_size, std::span<const std::byte> payload);
  /// Returns a chunk for one large record: fill it with write_record (without the lock), then append it.
  std::unique_ptr<Chunk> large_chunk(size_t record);
  uint64_t append(std::unique_ptr<Chunk> chunk);

  /// Returns the next batch as spans of records and marks it as sent; 0 when everything was sent.
  size_t next(std::span<const std::byte>* parts, size_t capacity);
  bool pending() const { return last_ != sent_; }

  /// Acknowledges everything up to sequence.
  Acknowledged acknowledge(uint64_t sequence);
  /// Restarts with a new worker that has everything up to sequence: sends what follows (again).
  Acknowledged restart(uint64_t sequence);

  /// Returns the sequence up to which the worker's journal has everything; also without the lock.
  uint64_t acknowledged() const { return acknowledged_.load(std::memory_order_acquire); }
  uint64_t last() const { return last_; }
  /// Returns the bytes of the kept records.
  size_t bytes() const { return bytes_; }

 private:
  Chunk& room_for(size_t record);
  uint64_t number(std::byte* record, Chunk& chunk);
  void mark(ops::OpHeader& op);
  void recycle(std::unique_ptr<Chunk> chunk);

  std::deque<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::unique_ptr<Chunk>> free_;
  bool open_ = false;                        // the last chunk takes more records
  bool in_step_ = false;                     // an optimizer step is running, in any thread
  size_t cursor_chunk_ = 0, cursor_at_ = 0;  // first unsent record
  uint64_t last_ = 0, sent_ = 0;
  std::atomic<uint64_t> acknowledged_{0};
  size_t bytes_ = 0;
};

}  // namespace jitc::session

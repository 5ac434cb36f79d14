// Process's side of one session: the API layer hands ops in, results come out.
//
// Called by the API layer (client_api.cpp included). Promises: ops of all threads form one ordered stream per
// session with gapless sequence numbers; nothing is lost when the worker dies (unacknowledged ops are
// kept and sent again); a full pipe blocks submit instead of growing; no lock is held across a wait; no
// exception leaves; after fork every call in the child returns kInitializationError without touching
// the parent's connection. A session's address range and handles stay the same for its whole life.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jitc/generated_errors.h"
#include "jitc/generated_ops.h"

namespace jitc::session {

using namespace errors;  // cudaError_t

struct Result {
  uint32_t status = kSuccess;
  std::vector<std::byte> payload;
};

/// Memory that the worker shares with this process: a sealed file whose first bytes are the session's token,
/// mapped at the same address in both processes.
struct PinnedRegion {
  int fd = -1;  // open as long as the process lives; -1: none
  std::string token;
  uint64_t base = 0, bytes = 0;
};

class Session {
 public:
  /// Receiver of the result of an op that no thread waits for (a device-to-host copy to pinned memory).
  /// Called once, by the thread that drives the I/O, before any thread can know that the op has run. Must not
  /// block.
  using Receiver = void (*)(void* context, uint32_t status, std::span<const std::byte> payload);

  virtual ~Session() = default;
  /// Appends an op (stream set by the caller; size, id, phase and sequence are filled in) and its
  /// payload (copied). Returns the sequence, or 0 when the session is over (see status()). Blocks only
  /// for back-pressure.
  template <class Op>
  uint64_t submit(Op op, std::span<const std::byte> payload = {}) {
    op.header.op = static_cast<uint16_t>(Op::kId);
    return append(&op.header, sizeof(Op), payload, false, nullptr, nullptr);
  }
  template <class Op>
  uint64_t submit_receiving(Op op, Receiver receiver, void* context,
                            std::span<const std::byte> payload = {}) {
    op.header.op = static_cast<uint16_t>(Op::kId);
    return append(&op.header, sizeof(Op), payload, true, receiver, context);
  }
  /// Submits and waits for the result.
  template <class Op>
  Result call(Op op, std::span<const std::byte> payload = {}) {
    op.header.op = static_cast<uint16_t>(Op::kId);
    return append_and_wait(&op.header, sizeof(Op), payload);
  }

  /// Returns whether the stream is known to have executed everything up to sequence, without a request.
  /// Knowledge from any call of any thread is permanent.
  virtual bool executed(uint64_t stream, uint64_t sequence) const = 0;
  enum class Wait : bool { no, yes };
  /// Does the same after a look at what has arrived; starts to send what is queued. With a wait it returns
  /// when the stream has; false then: only an op can find out, or the session is over.
  virtual bool find_executed(uint64_t stream, uint64_t sequence, Wait wait) = 0;
  /// Waits for all work submitted so far to all streams. False as above.
  virtual bool find_all_executed() = 0;
  /// Returns whether the worker has the op in its journal: shared memory that the op names may change then.
  /// With a wait it returns when that is so, or false when the session is over.
  virtual bool acknowledged(uint64_t sequence, Wait wait) = 0;
  /// Returns the sequence of the stream's newest work (0: none); ops that are no work of it do not count.
  virtual uint64_t last_submitted(uint64_t stream) const = 0;
  /// Returns 0, or the error that ended the session (every later call returns it).
  virtual uint32_t status() const = 0;
  /// Returns the service's index of this GPU, and the session's address range.
  virtual uint32_t gpu() const = 0;
  virtual uint64_t address_base() const = 0;
  virtual uint64_t address_bytes() const = 0;
  virtual const PinnedRegion& pinned() const = 0;
  /// Names, once, the environment variables set too late for a library that is about to be used.
  virtual void name_late_variables() const {}

 protected:
  virtual uint64_t append(ops::OpHeader* op, size_t size, std::span<const std::byte> payload, bool wait,
                          Receiver receiver, void* context) = 0;
  virtual Result append_and_wait(ops::OpHeader* op, size_t size, std::span<const std::byte> payload) = 0;
};

}  // namespace jitc::session

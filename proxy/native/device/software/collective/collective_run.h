// One collective as a state machine, so that the items of a group can make progress together.
//
// Called by: Group, from one thread. Promises: the first advance() only posts this rank's contribution; no
// advance() waits; a run does no more steps than limit_to() allows, so that it can stop where another one
// has. Memory outside of allocated blocks is never touched (OpError).
#pragma once
#include <memory>

#include "communicator.h"
#include "device/software/memory/memory.h"
#include "jitc/generated_ops.h"

namespace jitc::software {

/// Collective with its operands located in memory. Widths and sizes are in bytes.
struct Call {
  ops::CollectiveItem item;
  size_t width = 0;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  uint64_t send_bytes = 0, receive_bytes = 0;
  const std::byte* factor = nullptr;  // of a pre-multiplied sum, in device memory, or null: item.scale
  ops::CollectiveKind kind() const { return static_cast<ops::CollectiveKind>(item.kind); }
  bool point_to_point() const {
    return kind() == ops::CollectiveKind::send || kind() == ops::CollectiveKind::receive;
  }
  /// Copies elements of this rank's input in the form that enters the collective.
  void contribute(std::byte* to, uint64_t first, uint64_t count) const;
};

class Run {
 public:
  virtual ~Run() = default;
  /// Advances as far as possible now; false when it could not.
  bool advance() { return !at_limit() && advance_within(limit_ - steps()); }
  virtual bool done() const = 0;
  /// Returns the steps done.
  virtual uint64_t steps() const = 0;
  void limit_to(uint64_t steps) { limit_ = steps; }
  bool at_limit() const { return steps() >= limit_; }
  /// Returns the operands, which may move between two advances.
  virtual Call& call() = 0;

 protected:
  /// Advances by at most `most` steps, at least one.
  virtual bool advance_within(uint64_t most) = 0;

 private:
  uint64_t limit_ = UINT64_MAX;
};

/// Checks the item and locates its operands. Throws OpError.
Call check_call(const ops::OpHeader& op, const ops::CollectiveItem& item, uint32_t ranks, uint32_t rank,
                const Memory& memory);
/// Makes a run. The communicator must be joined and outlive it.
std::unique_ptr<Run> make_run(const Call& call, const Communicator& communicator);
std::unique_ptr<Run> make_letter_run(const Call& call, const Communicator& communicator);  // send, receive

}  // namespace jitc::software

// Aborts by the program, as part of Communicators: see communicators.h and ending.h.
//
// A separate thread finds the outcome, as for a join: neither the dispatcher nor the reader of ops waits for
// a collective to stop.
#include "communicators.h"

namespace jitc::software {

void Communicators::end(const ops::CommunicatorAbort& op) {
  const Pointer communicator = get(op.handle);
  remove(communicator);
  start_end(op, communicator);
}

void Communicators::abort_coming(const ops::CommunicatorAbort& op) {
  Pointer communicator;
  {
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(op.handle);
    if (found != table_.end()) communicator = found->second;
  }
  if (communicator) start_end(op, communicator);
}

void Communicators::start_end(const ops::CommunicatorAbort& op, const Pointer& communicator) {
  uint64_t executed = 0;
  {
    const std::lock_guard lock(mutex_);
    executed = executed_;
  }
  if (!communicator->end(executed, hub_)) return;
  const auto outcome = [this, communicator] { return communicator->await_outcome(hub_).pack(); };
  start(op.header.sequence, communicator, outcome, [communicator] { communicator->ending.record(); });
}

void Communicators::expect_aborts(const std::vector<KnownAbort>& aborts, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  expected_ = aborts;
  executed_ = sequence;
  for (const auto& [handle, communicator] : table_) expect_end(*communicator, handle, 0);
}

/// Expects the end of the communicator by the first abort after the op that made it: handles may recur.
void Communicators::expect_end(Communicator& communicator, uint64_t handle, uint64_t sequence) const {
  const KnownAbort* next = nullptr;
  for (const KnownAbort& one : expected_)
    if (one.handle == handle && one.sequence > sequence && (!next || one.sequence < next->sequence))
      next = &one;
  if (next) communicator.ending.expect(Cut::unpack(next->outcome));
}

}  // namespace jitc::software

#include "backpressure.h"

#include <algorithm>

#include "executor/core/session_core.h"
#include "executor/journal/wire.h"
#include "jitc/generated_op_traits.h"
#include "jitc/limits.h"

namespace jitc {

/// Promises a result; some ops have results that are as large as the program likes.
void Backpressure::promise_result(const ops::OpHeader& op, const ops::OpInfo& info) {
  constexpr uint64_t kSmall = 256;  // overhead of a result beside its bytes
  if (!info.waits || core_.results.known(op.sequence)) return;
  uint64_t bytes = kSmall;
  switch (ops::traits(info).result_size) {
    case ops::ResultSize::any:
      bytes = CompletionQueue::kMaximumPayload;
      break;
    case ops::ResultSize::copied:
      bytes += std::min(as<ops::CopyD2h>(op).bytes, wire::kMaximumCopy);
      break;
    case ops::ResultSize::small:
      break;
  }
  core_.results.promise(op.sequence, bytes);
}

bool Backpressure::too_much_unread() const {
  const uint64_t unsent = core_.completions.unsent();
  return unsent > limits::kUnreadResults || unsent + core_.results.promised() > limits::kPendingResults;
}

bool Backpressure::wait_until_read() {
  if (!too_much_unread()) return true;
  core_.backend->flush();
  return core_.life.wait(waits_, [&] { return !too_much_unread(); });
}

void Backpressure::wake() {
  if (waits_) core_.life.changed.tell();
}

}  // namespace jitc

#include "delivery.h"

#include "backpressure.h"
#include "executor/core/session_core.h"
#include "executor/replay/replay.h"
#include "jitc/limits.h"

namespace jitc {

void Delivery::result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  if (!core_.life.accepting) return;
  if (payload.size() > CompletionQueue::kMaximumPayload)
    return core_.fault(sequence, 1, "result-too-large",
                       "an op's result does not fit into one message (4 MiB)");
  const auto known = core_.results.known(sequence);
  if (!known) return give(sequence, status, payload);
  if (*known != Results::hash_of(status, payload)) return replay_.compare(sequence, status, payload);
  replay_.result_is_there(sequence);
}

void Delivery::give(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  const Results::Record record{status, 0, Results::hash_of(status, payload)};
  ResultBytes bytes{ResultBytes::kHere, payload.size(), {}};
  {
    const std::lock_guard lock(mutex_);
    if (!core_.journal.append(RecordKind::result, sequence, {std::as_bytes(std::span(&record, 1)), payload},
                              0, 1, &bytes.position)) {
      bytes.here.assign(payload.begin(), payload.end());  // owed from memory, as long as this worker lives
      core_.journal_full = true;
    }
    core_.results.add(sequence, record, bytes);
    if (core_.results.count() > limits::kResults) core_.journal_full = true;
    core_.completions.result(status, sequence, std::move(bytes));
  }
  core_.completions.send();
  backpressure_.wake();
}

bool Delivery::attach(uint64_t results_received, std::shared_ptr<CompletionSender> sender) {
  const std::lock_guard lock(mutex_);
  if (!core_.completions.attach(std::move(sender))) throw Error("another stream is attached to this session");
  core_.results.received(results_received);
  core_.completions.ack(core_.at.received, true);
  auto owed = core_.results.owed();
  if (!owed) return false;
  for (Results::Owed& one : *owed) core_.completions.result(one.status, one.sequence, std::move(one.bytes));
  return true;
}

}  // namespace jitc

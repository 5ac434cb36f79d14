#include "client_end.h"

#include "dispatcher.h"
#include "executor/core/session_core.h"
#include "executor/issue/backpressure.h"
#include "executor/issue/delivery.h"
#include "executor/recovery/recovery.h"
#include "jitc/generated_errors.h"

namespace jitc {

uint64_t ClientEnd::attach(uint64_t results_received, std::shared_ptr<CompletionSender> sender) {
  const bool lost = !parts_.delivery.attach(results_received, std::move(sender));
  if (lost)
    parts_.recovery.abandon(errors::kUnknown,
                            "results that the program had not received were forgotten with a full journal");
  for (const auto& one : core_.progress.all()) core_.completions.progress(one.stream, one.sequence);
  // A stream that was destroyed before the restored state is in no list any more.
  if (const uint64_t floor = core_.progress.floor())
    core_.completions.completion(CompletionKind::restored, 0, floor);
  const std::lock_guard lock(core_.life.mutex);
  core_.life.changed.notify_all();
  core_.repeat_notices(!lost);  // a session that is lost has just been reported to be over
  return core_.at.received;
}

void ClientEnd::detach() {
  core_.completions.detach();
  core_.life.notify();
}

bool ClientEnd::attached() const { return core_.completions.attached(); }

void ClientEnd::submit(std::span<const std::byte> message) {
  parts_.intake.submit(message, Intake::Wait::yes);
  parts_.dispatcher.ops_came();
}

bool ClientEnd::try_submit(std::span<const std::byte> message) {
  const bool all = parts_.intake.submit(message, Intake::Wait::no);
  parts_.dispatcher.ops_came();
  return all;
}

int64_t ClientEnd::poll(std::span<std::byte> out, int timeout_ms) {
  const int64_t size = core_.completions.poll(out, timeout_ms);
  parts_.backpressure.wake();
  return size;
}

int64_t ClientEnd::take(std::span<std::byte> out) {
  const int64_t size = core_.completions.take(out);
  if (size > 0) parts_.backpressure.wake();
  return size;
}

}  // namespace jitc

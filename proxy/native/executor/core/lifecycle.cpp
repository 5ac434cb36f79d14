#include "lifecycle.h"

namespace jitc {

const char* Lifecycle::name_of(State state) {
  switch (state) {
    case State::running:
      return "running";
    case State::fenced:
      return "fenced";
    case State::faulted:
      return "faulted";
    case State::over:
      return "over";
  }
  return "?";
}

void Lifecycle::require_fenced(const char* what) const {
  if (state != State::fenced)
    throw Error(std::string(what) + " needs a fenced session, this one is " + name_of(state));
}

void Lifecycle::begin_command(uint64_t of_epoch) {
  command_epoch = of_epoch;
  stop_if_outdated(of_epoch);
}

void Lifecycle::stop_if_outdated(uint64_t of_epoch) const {
  if (is_overtaken(of_epoch)) throw Error("a newer recovery has begun");
}

void Lifecycle::wake_dispatcher() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!asleep.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex);
  work.notify_one();
}

void Lifecycle::notify() {
  const std::lock_guard lock(mutex);
  changed.notify_all();
}

}  // namespace jitc

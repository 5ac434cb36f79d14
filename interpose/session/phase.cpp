// See phase.h.
#include "phase.h"

#include <algorithm>
#include <atomic>

namespace jitc::session {
namespace {

thread_local ops::Phase thread_phase = ops::Phase::forward;
std::atomic<int (*)()> phase_source{nullptr};

}  // namespace

void set_phase(ops::Phase phase) { thread_phase = phase; }
void set_phase_source(int (*source)()) { phase_source.store(source); }

ops::Phase current_phase() {
  int (*const source)() = phase_source.load(std::memory_order_relaxed);
  return source ? static_cast<ops::Phase>(std::clamp(source(), 0, 2)) : thread_phase;
}

}  // namespace jitc::session

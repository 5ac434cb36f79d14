// What a session knows of its streams without asking the worker: by messages that have come, and by the
// progress page.
//
// What the page says is known to the program once learn() has returned true. Before that the session says so
// with a `known` op, so that whatever the program sends next, on any stream, follows it in the journal: in a
// replay it then runs after the work that the program has seen done.
#include <algorithm>
#include <chrono>

#include "session/order_check.h"
#include "session/process.h"
#include "session_client.h"

namespace jitc::session {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// A wake-up takes longer than this, and less would not cover the way of a short op.
constexpr microseconds kSpin{20};
// Messages tell too, and of streams that have no place in the page: a sleeper looks now and then.
constexpr microseconds kFirstSleep{2'000}, kLongestSleep{50'000};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// True as soon as the page says so, before the time is over.
bool spin(const ProgressReader& page, uint64_t stream, uint64_t sequence) {
  for (const auto end = Clock::now() + kSpin; Clock::now() < end;) {
    for (int i = 0; i < 20; ++i) relax();
    if (page.executed(stream) >= sequence) return true;
  }
  return false;
}

}  // namespace

void SessionClient::poll() {
  if (const auto connection = current_connection()) connection->wait([](void*) { return 0; }, nullptr, 0);
}

/// Whether a result of an op up to this one is still to come: its bytes have to be there first.
bool SessionClient::owes_before(uint64_t sequence) const {
  return std::any_of(pending_.begin(), pending_.upper_bound(sequence),
                     [](const auto& one) { return one.second.receiver != nullptr; });
}

/// True when the page says that the stream has come that far, and the worker will hear that it is known.
bool SessionClient::learn(uint64_t stream, uint64_t sequence) {
  const uint64_t executed = page_.executed(stream);
  if (executed < sequence) return false;
  const Lock lock(mutex_);
  if (progress_.executed(stream, sequence)) return true;
  const uint64_t until = owes_before(executed) ? sequence : executed;
  if (status_.load(std::memory_order_relaxed) != kSuccess || owes_before(until)) return false;
  ops::Known op;
  op.header.op = static_cast<uint16_t>(ops::Known::kId);
  op.stream = stream;
  op.until = until;
  send_queue_.append(&op.header, sizeof op, {});
  kept_.store(send_queue_.bytes(), std::memory_order_relaxed);
  progress_.advance({Reach::Of::stream, stream, until});
  return true;
}

bool SessionClient::executed_by_now(uint64_t stream, uint64_t sequence) {
  if (executed(stream, sequence)) return true;
  if (forked()) return false;
  if (learn(stream, sequence)) return true;
  poll();
  return executed(stream, sequence) || learn(stream, sequence);
}

bool SessionClient::wait_executed(uint64_t stream, uint64_t sequence) {
  if (forked() || !page_.is_open()) return executed(stream, sequence);
  if (executed_by_now(stream, sequence)) return true;
  if (!spin(page_, stream, sequence)) {
    const ProgressReader::Sleeper sleeper(page_, stream);
    for (auto time = kFirstSleep;; time = std::min(2 * time, kLongestSleep)) {
      const uint32_t version = sleeper.version();
      if (status() != kSuccess) return false;
      if (executed(stream, sequence) || page_.executed(stream) >= sequence) break;
      sleeper.sleep(version, time);
    }
  }
  return executed(stream, sequence) || learn(stream, sequence);
}

bool SessionClient::wait_all_executed() {
  if (forked() || !page_.is_open()) return false;
  return std::ranges::all_of(progress_.outstanding(), [this](const StreamProgress::Outstanding& one) {
    return wait_executed(one.stream, one.sequence);
  });
}

}  // namespace jitc::session

// Knowledge of a session about its streams without asking the worker: from messages that have arrived, and
// from the progress page.
//
// The program knows the page's content once learn() has returned true. Before that the session reports it
// with a `known` op, so that the program's next op, on any stream, follows it in the journal: in a replay it
// then runs after the work that the program has seen done.
#include <algorithm>
#include <chrono>
#include <optional>

#include "session/order_check.h"
#include "session/process.h"
#include "session_client.h"

namespace jitc::session {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// A wake-up takes longer than this; less would not cover the round trip of a short op.
constexpr microseconds kSpin{20};
// A worker may end between its write and the wake-up: a sleeper polls now and then.
constexpr microseconds kFirstSleep{2'000}, kLongestSleep{50'000};
// After so many sleeps an op asks. The page, or a progress report, need not ever cover the very op that is
// waited for (a worker older than the page, an op that it refused); an answer always arrives.
constexpr int kSleeps = 24;  // a second

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Spins; true as soon as the page reports the progress before the time is over.
bool spin(const ProgressReader& page, uint64_t stream, uint64_t sequence) {
  for (const auto end = Clock::now() + kSpin; Clock::now() < end;) {
    for (int i = 0; i < 20; ++i) relax();
    if (page.executed(stream) >= sequence) return true;
  }
  return false;
}

/// Sleeps. False: the time is over, or the session.
template <class Over, class There>
bool sleep(const ProgressReader::Sleeper& sleeper, Over&& is_over, There&& is_there) {
  auto time = kFirstSleep;
  for (int sleeps = 0; sleeps < kSleeps; ++sleeps, time = std::min(2 * time, kLongestSleep)) {
    const uint32_t version = sleeper.version();
    if (is_over()) return false;
    if (is_there()) return true;
    sleeper.sleep(version, time);
  }
  return false;
}

}  // namespace

/// Sends queued ops, receives arrived messages.
void SessionClient::poll() {
  std::shared_ptr<WorkerConnection> connection;
  {
    const Lock lock(mutex_);
    if (connection_ && connection_->opened) connection = connection_;
  }
  if (connection) connection->wait([](void*) { return 0; }, nullptr, 0);
}

/// Returns true if the page reports that progress, and the worker will learn that it is known. Not while
/// bytes of an earlier op are still to arrive, or on their way to their receiver: a thread that knows that a
/// copy is done must find them.
bool SessionClient::learn(uint64_t stream, uint64_t sequence) {
  const uint64_t executed = page_.executed(stream);
  if (executed < sequence) return false;
  const Lock lock(mutex_);
  if (progress_.executed(stream, sequence)) return true;
  const uint64_t most = bytes_due_.before();
  if (status_.load(std::memory_order_relaxed) != kSuccess || most < sequence) return false;
  ops::Known op;
  op.header.op = static_cast<uint16_t>(ops::Known::kId);
  op.stream = stream;
  // A stray pointer of the program may have written the page: work that was not submitted cannot be done.
  op.until = std::max(sequence, std::min({executed, most, progress_.submitted(stream)}));
  send_queue_.append(&op.header, sizeof op, {});
  kept_.store(send_queue_.bytes(), std::memory_order_relaxed);
  progress_.advance({Reach::Of::stream, stream, op.until});
  return true;
}

bool SessionClient::find_executed(uint64_t stream, uint64_t sequence, Wait wait) {
  const auto is_known = [&] { return executed(stream, sequence); };
  if (is_known()) return true;
  if (forked() || (wait == Wait::yes && !page_.is_open())) return false;
  if (learn(stream, sequence)) return true;
  // Before queued ops are sent, so that the worker knows that a thread waits for them.
  std::optional<ProgressReader::Sleeper> sleeper;
  if (wait == Wait::yes) sleeper.emplace(page_, stream);
  poll();
  if (is_known() || learn(stream, sequence)) return true;
  if (wait == Wait::no) return false;
  // The page does not cover bytes, and asking once they arrived would be a second round trip.
  auto has_bytes = [&] { return status() != kSuccess || !bytes_due_.any(stream, sequence); };
  if (!has_bytes())
    wait_until([](void* self) { return static_cast<int>((*static_cast<decltype(has_bytes)*>(self))()); },
               &has_bytes);
  if (is_known() || learn(stream, sequence)) return true;
  const auto is_over = [&] { return status() != kSuccess; };
  const auto is_there = [&] { return is_known() || page_.executed(stream) >= sequence; };
  return (spin(page_, stream, sequence) || sleep(*sleeper, is_over, is_there)) &&
         (is_known() || learn(stream, sequence));
}

bool SessionClient::find_all_executed() {
  if (forked() || !page_.is_open()) return false;
  return std::ranges::all_of(progress_.outstanding(), [this](const StreamProgress::Outstanding& one) {
    return find_executed(one.stream, one.sequence, Wait::yes);
  });
}

}  // namespace jitc::session

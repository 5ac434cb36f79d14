// Limits of the software device that only very much of something reaches: docs/limits.md has them all.
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include "device/software/order/access_map.h"
#include "device/software/stream/crew.h"
#include "harness.h"
#include "jitc/limits.h"

namespace jitc::test {
namespace {

/// Work that waits for other processes, as a collective does, until it is let go.
class Waiting final : public software::Crew::Work {
 public:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    size_t running = 0, may_end = 0;
  };
  Waiting(software::Crew& crew, Shared& shared) : crew_(crew), shared_(shared) {}
  void run() override {
    const software::Crew::Absence absence(crew_);
    std::unique_lock lock(shared_.mutex);
    ++shared_.running;
    shared_.changed.notify_all();
    shared_.changed.wait(lock, [&] { return shared_.may_end > 0; });
    --shared_.may_end;
  }
  bool can_start() const override { return true; }

 private:
  software::Crew& crew_;
  Shared& shared_;
};

/// The crew's threads, by their name: a sanitizer has some of its own.
size_t threads() {
  size_t found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    found += name == "jitc-stream" ? 1 : 0;
  }
  return found;
}
}  // namespace

CASE(crew_of_collectives_has_so_many_threads_and_no_more) {
  constexpr size_t kMost = limits::kStreamThreads + limits::kCollectiveThreads;
  Waiting::Shared shared;
  const auto wait_for = [&](size_t running) {
    std::unique_lock lock(shared.mutex);
    shared.changed.wait(lock, [&] { return shared.running == running; });
  };
  const auto let_go = [&](size_t count) {
    const std::lock_guard lock(shared.mutex);
    shared.may_end += count;
    shared.changed.notify_all();
  };
  software::Crew crew;
  struct Ends {  // also after a check that fails: the crew waits for its work
    decltype(let_go)& all;
    ~Ends() { all(2 * kMost); }
  } const ends{let_go};
  for (size_t i = 0; i < kMost; ++i) crew.ready(std::make_shared<Waiting>(crew, shared));
  wait_for(kMost);
  CHECK_EQUAL(threads(), kMost);
  crew.ready(std::make_shared<Waiting>(crew, shared));
  CHECK_EQUAL(threads(), kMost);
  let_go(1);
  wait_for(kMost + 1);  // by the thread that is free now
}

CASE(order_of_too_many_pieces_forgets_the_older_half) {
  // Nobody has waited for any of them: a later one that touches the same bytes races with what is known.
  constexpr uint64_t kApart = 16, kMost = 200'000;
  size_t races = 0;
  software::order::AccessMap map([&](const auto&, const auto&) { ++races; });
  const software::order::Clock nothing;
  uint64_t sequence = 0;
  const auto write = [&](uint64_t piece, uint32_t stream) {
    const auto op = std::make_shared<software::order::Operation>(
        software::order::Operation{++sequence, stream, stream, "fill", nullptr});
    map.take(op, nothing, {0x10000 + piece * kApart, 8}, true);
    map.sweep(nothing);
  };
  size_t most = 0;
  uint64_t count = 0;
  for (; map.pieces() >= most; ++count) {
    CHECK(count < 3 * kMost);
    most = map.pieces();
    write(count, 1);
  }
  CHECK(most >= kMost && map.pieces() <= most / 2 + 1);
  write(0, 2);
  CHECK_EQUAL(races, 0u);
  write(count - 1, 2);
  CHECK_EQUAL(races, 1u);
}

}  // namespace jitc::test

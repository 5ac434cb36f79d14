// The shuffled device: what is drawn, and that nothing but the time changes. All other cases of this program
// run with it too (test_software_device.py).
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/shuffle.h"
#include "device/software/shuffle/held_streams.h"
#include "device/software/shuffle/late_reports.h"
#include "device/software/shuffle/later.h"
#include "harness.h"

namespace jitc::test {
namespace {
using Choice = Shuffle::Choice;
using software::HeldStreams;
using software::Later;
using software::LateReports;
using software::Task;
constexpr Choice kChoices[] = {Choice::reading, Choice::start, Choice::middle, Choice::answer,
                               Choice::progress};
constexpr uint64_t kOps = 20'000;

std::vector<int64_t> draws(const Shuffle& shuffle, Choice choice, uint64_t stream) {
  std::vector<int64_t> out;
  for (uint64_t sequence = 1; sequence <= kOps; ++sequence)
    out.push_back(shuffle.draw(choice, stream, sequence).count());
  return out;
}

/// The first sequence after `after` whose draw is at least so long.
uint64_t late_one(const Shuffle& shuffle, Choice choice, uint64_t stream, int64_t microseconds,
                  uint64_t after = 0) {
  uint64_t sequence = after + 1;
  while (shuffle.draw(choice, stream, sequence).count() < microseconds) ++sequence;
  return sequence;
}

/// Remembers in which order it was told; anything of one line.
class Told final : public ExecutionSink {
 public:
  void result(uint64_t sequence, uint32_t, std::span<const std::byte>) override { add('r', sequence); }
  void progress(uint64_t, uint64_t sequence) override { add('p', sequence); }
  void fault(uint64_t sequence, uint32_t, std::string_view, std::string_view) override { add('f', sequence); }
  void injection_point(const ops::OpHeader& op, std::string_view) override { add('i', op.sequence); }
  bool delivered(uint64_t) const override { return false; }
  ProgressDoorbell& progress_doorbell() override { return doorbell_; }
  std::vector<std::pair<char, uint64_t>> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  void add(char what, uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    all_.emplace_back(what, sequence);
  }
  std::mutex mutex_;
  std::vector<std::pair<char, uint64_t>> all_;
  ProgressDoorbell doorbell_{nullptr};
};

/// What streams run on in these cases: everything may start; running an op is `act`.
class Plain final : public software::Runner {
 public:
  bool running() const override { return runs; }
  bool may_start(const Task&) const override { return able; }
  void run(const Task& task) override { act(task); }
  void drop(const Task&) override {}
  void report(uint64_t, uint64_t) override {}
  void over() override {}
  bool runs = true, able = true;
  std::function<void(const Task&)> act = [](const Task&) {};
};

struct Reports {
  explicit Reports(uint64_t seed = 1) : shuffle(seed, 0, 0), late(shuffle, told, hub, later) {
    op.sequence = 1;
    task.op = &op;
  }
  ~Reports() {
    time.open();
    later.drop();
    late.drop();
  }
  /// Nothing becomes due until time.open().
  void stop_time() {
    later.at(Later::Clock::now(), [this] { time.pass(); });
  }
  /// As an op of a stream does.
  void from_op(std::function<void()> say) {
    plain.act = [&](const Task&) { say(); };
    held.run(task);
  }
  void drain() {
    hub.wait_always([this] { return late.none_waits(); });
  }
  const Shuffle shuffle;
  Gate time;
  Told told;
  software::WaitHub hub;
  LateReports late;
  Plain plain;
  software::Crew crew;
  Later later;
  HeldStreams held{shuffle, plain, crew, later};
  ops::OpHeader op{};
  Task task;
};
}  // namespace

// -- what is drawn -----------------------------------------------------------------------------------------

CASE(shuffle_draws_the_same_again_and_otherwise_with_another_seed_gpu_stream_or_choice) {
  const Shuffle shuffle(7, 0, 240);
  for (const Choice choice : kChoices) {
    const auto drawn = draws(shuffle, choice, 5);
    CHECK(drawn == draws(Shuffle(7, 0, 240), choice, 5));
    CHECK(drawn != draws(Shuffle(8, 0, 240), choice, 5));
    CHECK(drawn != draws(Shuffle(7, 1, 240), choice, 5));
    CHECK(drawn != draws(shuffle, choice, 6));
    for (const Choice other : kChoices)
      if (other != choice) CHECK(drawn != draws(shuffle, other, 5));
  }
}

CASE(shuffle_draws_are_mostly_nothing_and_never_longer_than_said) {
  const Shuffle shuffle(7, 0, 240);
  CHECK_EQUAL(shuffle.longest().count(), 20'000);
  for (const Choice choice : kChoices) {
    int64_t late = 0, some = 0, longest = 0, sum = 0;
    for (const int64_t one : draws(shuffle, choice, 5)) {
      CHECK(one >= 0);
      late += one > 0;
      some += one > 200;
      longest = std::max(longest, one);
      sum += one;
    }
    CHECK(late > static_cast<int64_t>(kOps) / 100 && late < static_cast<int64_t>(kOps) / 10);
    CHECK(some > 0 && some < late);
    CHECK(longest <= shuffle.longest().count());
    CHECK(sum / static_cast<int64_t>(kOps) < 50);  // microseconds on average
  }
}

CASE(shuffle_is_far_shorter_than_what_counts_as_a_hang) {
  const Shuffle shuffle(7, 0, 0.1);
  CHECK(shuffle.longest().count() * 10 < 100'000);
  for (const Choice choice : kChoices)
    for (const int64_t one : draws(shuffle, choice, 5)) CHECK(one <= shuffle.longest().count());
}

CASE(shuffle_without_a_seed_draws_nothing) {
  CHECK(!Shuffle().on() && !Shuffle(0, 3, 240).on() && Shuffle(1, 3, 240).on());
  for (const Choice choice : kChoices)
    CHECK(draws(Shuffle(0, 3, 240), choice, 5) == std::vector<int64_t>(kOps, 0));
}

// -- later -------------------------------------------------------------------------------------------------

CASE(shuffle_later_does_things_in_the_order_of_their_times) {
  const auto start = Later::Clock::now();
  std::vector<int> done;
  Gate given, all;
  Later later;
  later.at(start, [&] { given.pass(); });  // the others are chosen among when all are there
  const auto at = [&](int milliseconds, int number) {
    const auto time = start + std::chrono::milliseconds(milliseconds);
    later.at(time, [&, time, number] {
      CHECK(Later::Clock::now() >= time);
      done.push_back(number);
      if (number == 3) all.open();
    });
  };
  at(30, 3);
  at(10, 1);
  at(10, 2);
  at(5, 0);
  given.open();
  all.pass();
  CHECK(done == (std::vector{0, 1, 2, 3}));
}

CASE(shuffle_later_drops_what_has_not_run_and_waits_for_what_runs) {
  Gate entered, leave;
  std::atomic<int> runs{0};
  Later later;
  later.at(Later::Clock::now(), [&] {
    entered.open();
    leave.pass();
    ++runs;
  });
  {
    // Gone with those that are dropped: what runs goes on when none of them is left.
    const std::shared_ptr<void> dropped(nullptr, [&](void*) { leave.open(); });
    for (int i = 0; i < 10; ++i) later.at(Later::Clock::now(), [&runs, dropped] { runs += 100; });
  }
  entered.pass();
  later.drop();
  CHECK_EQUAL(runs.load(), 1);
}

// -- reports -----------------------------------------------------------------------------------------------

CASE(shuffle_reports_come_late_but_all_and_in_the_order_in_which_they_were_made) {
  Reports t;
  std::vector<std::pair<char, uint64_t>> made;
  for (uint64_t sequence = 1; sequence <= 3000; ++sequence) {
    if (sequence % 3 == 0) {
      t.from_op([&] { t.late.result(sequence, 0, {}); });
      made.emplace_back('r', sequence);
    }
    t.late.progress(sequence % 4, sequence);
    made.emplace_back('p', sequence);
  }
  t.drain();
  CHECK(t.told.all() == made);
}

CASE(shuffle_a_report_that_is_late_holds_up_those_behind_it) {
  Reports t;
  t.stop_time();
  const uint64_t late = late_one(t.shuffle, Choice::progress, 0, 1);
  t.late.progress(0, late);
  uint64_t next = late + 1;
  while (t.shuffle.draw(Choice::progress, 0, next).count() != 0) ++next;
  t.late.progress(0, next);  // would not be late by itself
  CHECK(!t.late.none_waits() && t.told.all().empty());
  t.time.open();
  t.drain();
  CHECK(t.told.all() == (std::vector<std::pair<char, uint64_t>>{{'p', late}, {'p', next}}));
}

CASE(shuffle_an_op_that_is_answered_where_it_is_given_takes_along_what_waits) {
  Reports t;
  t.stop_time();
  const uint64_t late = late_one(t.shuffle, Choice::progress, 0, 1);
  t.late.progress(0, late);
  t.late.result(1, 0, {});
  CHECK(t.told.all() == (std::vector<std::pair<char, uint64_t>>{{'p', late}, {'r', 1}}));
  t.late.progress(0, late);
  t.late.fault(2, 700, "cause", "text");
  CHECK_EQUAL(t.told.all().size(), 4u);
  CHECK_EQUAL(t.told.all().back().first, 'f');
  CHECK(t.late.none_waits());
}

CASE(shuffle_what_was_dropped_is_never_said) {
  Reports t;
  t.stop_time();
  t.late.progress(0, late_one(t.shuffle, Choice::progress, 0, 1));
  t.late.drop();
  t.time.open();
  t.later.drop();
  CHECK(t.late.none_waits() && t.told.all().empty());
  t.late.result(1, 0, {});
  CHECK_EQUAL(t.told.all().size(), 1u);
}

CASE(shuffle_pauses_end_when_waits_are_given_up) {
  Reports t;
  t.op.sequence = late_one(t.shuffle, Choice::middle, 0, 10'000);
  t.late.injection_point(t.op, "copy");  // passes by itself
  t.late.give_up();
  t.late.injection_point(t.op, "copy");
  t.late.restart();
  CHECK_EQUAL(t.told.all().size(), 2u);
}

// -- streams -----------------------------------------------------------------------------------------------

CASE(shuffle_holds_an_op_back_for_its_time_and_no_longer) {
  Reports t;
  t.op.sequence = late_one(t.shuffle, Choice::start, 0, 5'000);
  t.plain.able = false;
  CHECK(!t.held.may_start(t.task));  // its time has not begun
  t.plain.able = true;
  const auto start = Later::Clock::now();
  const auto delay = t.shuffle.draw(Choice::start, 0, t.op.sequence);
  CHECK(!t.held.may_start(t.task));
  while (!t.held.may_start(t.task)) std::this_thread::yield();
  CHECK(Later::Clock::now() - start >= delay);
  t.held.run(t.task);
  CHECK(!t.held.may_start(t.task));  // as when it comes again in a replay
  t.plain.runs = false;
  CHECK(t.held.may_start(t.task));  // it is dropped
  t.held.drop(t.task);
}

CASE(shuffle_says_whether_a_thread_runs_an_op) {
  Reports t;
  bool inside = false;
  CHECK(!HeldStreams::in_op());
  t.from_op([&] { inside = HeldStreams::in_op(); });
  CHECK(inside && !HeldStreams::in_op());
}

CASE(shuffle_nothing_is_said_after_a_fence_and_replays_run_to_their_end) {
  setenv("JITC_TEST_SHUFFLE", "3", 1);
  Session s;
  const uint64_t data = s.allocate(1u << 16);
  const Resources wanted{{{data, 1u << 16}}, {{0x11, 1, 0}, {0x12, 1, 0}}};
  for (int round = 0; round < 20; ++round) {
    std::vector<uint64_t> reads;
    for (uint32_t i = 0; i < 100; ++i) {
      const uint64_t stream = round ? 0x11 + i % 2 : 0;
      s.fill(data + i % 2 * 4, 4, i, stream, 4);  // each stream its own
      reads.push_back(s.get(data + 64, 4, stream));
    }
    s.backend->fence();
    const auto known = [&] {
      return std::ranges::count_if(reads, [&](uint64_t one) { return s.sink.has_result(one); });
    };
    const auto said = known();
    std::string error;
    CHECK(s.backend->restore(wanted, error));
    s.backend->unfence();
    CHECK(s.backend->idle());
    CHECK_EQUAL(known(), said);
    CHECK(s.sink.faults().empty());
  }
}

CASE(shuffle_idle_means_that_everything_was_said) {
  setenv("JITC_TEST_SHUFFLE", "3", 1);
  Session s;
  const uint64_t data = s.allocate(1u << 16);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint64_t> reads;
    for (int i = 0; i < 20; ++i) reads.push_back(s.get(data, 4));
    CHECK(s.backend->idle());
    for (const uint64_t one : reads) CHECK(s.sink.has_result(one));
    CHECK(s.sink.progress_of(0) >= reads.back());
  }
}
}  // namespace jitc::test

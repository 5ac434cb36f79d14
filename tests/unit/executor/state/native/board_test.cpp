// What the board does with more than it has places for; run by tests/unit/executor/state/test_board.py with
// the path of a file for it. Prints what is wrong.
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "base/shared/job_board.h"
#include "base/shared/shared_map.h"
#include "executor/pairing/view.h"

namespace {
using namespace jitc;

constexpr uint64_t kNames = std::tuple_size_v<JobNames>;

#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) return std::printf("%s\n", #condition), 1; \
  } while (false)

/// Communicators that a session belongs to.
int names(const JobBoard& board) {
  board.slot(1).session = 5, board.slot(2).session = 6;
  for (uint64_t name = 1; name <= kNames; ++name) CHECK(board.join(1, name));
  CHECK(!board.join(1, kNames + 1));
  CHECK(board.join(1, 7));  // it belongs to that one already
  CHECK(board.join(2, kNames));
  CHECK(board.group(2, {}).size() == 2);
  CHECK(board.join(2, kNames + 1) && board.group(1, {}).size() == 2);
  for (uint64_t again = 0; again < kNames / 4; ++again) {  // one comes and another goes, without end
    board.part(1, again + 1);
    CHECK(board.join(1, kNames + again + 1));
    CHECK(!board.join(1, std::numeric_limits<uint64_t>::max()));
  }
  return 0;
}

RankHistory history(size_t boundaries) {
  RankHistory made;
  for (uint64_t number = 0; number < boundaries; ++number) {
    KeptTally kept;
    kept.number = number;
    kept.tally.memberships.resize(100);
    made.kept.push_back(kept);
  }
  return made;
}

/// What a rank shows of its boundaries: too much is nothing, rather than a part or what was there before.
int histories(const JobBoard& board) {
  size_t most = 1;
  while (board.show(3, history(most))) ++most;
  CHECK(history(most).pack().size() > JobHistory::kWords);
  CHECK(history(most - 1).pack().size() <= JobHistory::kWords && most > 100);
  CHECK(!board.history(3));
  CHECK(board.show(3, history(2)) && board.history(3)->kept.size() == 2);
  return 0;
}
/// What a session has seen of those that are connected with it.
int versions(const JobBoard& board) {
  board.slot(11).session = 21, board.slot(12).session = 22, board.slot(13).session = 23;
  for (const uint32_t slot : {11, 12}) CHECK(board.join(slot, 99));
  CHECK(board.seen_from(11) == (std::vector<Version>{{22, Version::kUnknown}}));
  for (uint64_t number = 1; number <= 3; ++number) {
    CHECK(board.show(12, history(number)) && board.history(12)->version == number);
    CHECK(board.seen_from(11) == (std::vector<Version>{{22, number}}));
  }
  board.show_words(12, {});  // as at the begin of an epoch
  CHECK(board.seen_from(11) == (std::vector<Version>{{22, Version::kUnknown}}));
  CHECK(board.show(12, history(1)) && board.history(12)->version == 4);
  board.leave(12);
  CHECK(board.seen_from(11).empty());
  RankHistory many = history(1);  // a peer's words, say
  many.seen.resize(RankHistory::kSeenMost + 1);
  CHECK(board.show(11, many) && !board.history(11));
  return 0;
}

bool is_closed(const JobBoard& board, std::vector<Version> seen, View::Unknown unknown) {
  RankHistory shown = history(1);
  shown.seen = std::move(seen);
  board.show(32, shown);
  return View(board, 31, {}).is_closed(unknown);
}

/// Which versions of a third session keep the view of a first one open that a second one has seen.
int views(const JobBoard& board) {
  constexpr auto kCounts = View::Unknown::counts, kDoesNot = View::Unknown::does_not_count;
  constexpr uint64_t kElsewhere = uint64_t{1} << 32;
  for (const uint32_t slot : {31, 32}) {
    board.slot(slot).session = 100 + slot;
    CHECK(board.join(slot, 700));
  }
  CHECK(is_closed(board, {}, kCounts));
  CHECK(is_closed(board, {{133, 3}}, kCounts));                // of this node: it has ended
  CHECK(!is_closed(board, {{kElsewhere + 33, 3}}, kDoesNot));  // of another node: it may be new here
  board.slot(33).session = 133;                                // connected with neither
  CHECK(!is_closed(board, {{133, 3}}, kDoesNot));
  for (int times = 0; times < 2; ++times) board.show(33, history(1));
  CHECK(!is_closed(board, {{133, 3}}, kDoesNot));
  board.show(33, history(1));
  CHECK(is_closed(board, {{133, 3}}, kCounts));
  CHECK(board.join(33, 700));
  CHECK(is_closed(board, {{133, 3}}, kCounts) && !is_closed(board, {{133, 4}}, kDoesNot));
  CHECK(!is_closed(board, {{133, Version::kUnknown}}, kCounts));
  CHECK(is_closed(board, {{133, Version::kUnknown}}, kDoesNot));
  CHECK(is_closed(board, {{131, 1000}}, kCounts));  // the reader's own
  board.show_words(33, {});
  CHECK(is_closed(board, {{133, 9}}, kCounts) && !View(board, 31, {}).is_whole());
  return 0;
}

/// The next session of a slot is in none of the communicators of the one before.
int slots_again(const JobBoard& board) {
  for (const uint32_t slot : {21, 22}) {
    board.slot(slot).session = slot;
    CHECK(board.join(slot, 500));
    board.leave(slot);
    CHECK(board.names(slot).empty());
    board.slot(slot).session = 100 + slot;
    CHECK(board.join(slot, 600 + slot));
    CHECK(board.names(slot) == std::vector<uint64_t>{600ull + slot});
  }
  CHECK(board.group(21, {}).size() == 1);
  return 0;
}
}  // namespace

int main(int, char** arguments) {
  const SharedMap memory(arguments[1], JobBoard::kBytes);
  const JobBoard board(memory.data());
  return names(board) || histories(board) || versions(board) || views(board) || slots_again(board);
}

// What the ranks of a group show at one time, as far as this rank can see it.
//
// Ranks of other nodes are seen late, each over a connection of its own. A rank that is read later, or whose
// connection is faster, may show a boundary that it made after an operation with another rank, of which the
// reader has an older state: without that operation, or even without the communicator. Such a view shows a
// state in which the job never was. So each history says which versions of others its rank had seen, and a
// view is closed if it has at least these: then a communicator of any boundary in it is known for all its
// ranks.
//
// A session that is named need not be in the group any more: nothing connects it, if it is on the board with
// that version. One of this node that is not there has ended. One of another node may have ended or be new
// here; whoever names it shows that again (Pairing::renew).
//
// Called by: Pairing. Promise: a closed view shows for each rank all that had come before what it shows of
// the others.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/shared/job_board.h"

namespace jitc {

class View {
 public:
  static constexpr int kReadings = 10;

  /// Reads the group's histories, and again what is older than others need. own: this rank's slot, whose
  /// history is not read; named: slots of the group beside those that communicators connect; readings: at
  /// most.
  View(const JobBoard& board, uint32_t own, const std::vector<uint32_t>& named, int readings = kReadings);

  const std::vector<uint32_t>& group() const { return group_; }
  /// Returns the slot's history; nothing if it could not be read, or is this rank's.
  const RankHistory* history(uint32_t slot) const;
  /// Returns whether all other ranks of the group could be read.
  bool is_whole() const { return histories_.size() + 1 == group_.size(); }
  enum class Unknown { counts, does_not_count };
  /// Returns whether the view is closed. unknown: whether a version that a rank could not see keeps it from
  /// that.
  bool is_closed(Unknown unknown) const;

 private:
  bool read_again(const std::vector<uint32_t>& named);
  void read(uint32_t slot);
  bool has(const Version& seen, Unknown unknown) const;

  const JobBoard& board_;
  const uint32_t own_;
  std::vector<uint32_t> group_;
  std::unordered_map<uint64_t, uint32_t> slots_;         // of all sessions on the board
  std::unordered_map<uint32_t, RankHistory> histories_;  // by slot
};

}  // namespace jitc

// What the ranks of a group show at one time, as far as this rank can see it.
//
// Ranks of other nodes are seen late, each over a connection of its own. A rank that is read later, or whose
// connection is faster, may show a boundary that it made after an operation with another rank, of which the
// reader has an older state: without that operation, or even without the communicator. Such a view shows a
// state in which the job never was. So each history says which versions of others its rank had seen, and a
// view is closed if it has at least these: then a communicator of any boundary in it is known for all its
// ranks.
//
// Called by: Pairing. Promise: a closed view shows for each rank all that had come before what it shows of
// the others.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/shared/job_board.h"

namespace jitc {

class View {
 public:
  /// Reads the group's histories, again where one is older than another one needs. own: this rank's slot,
  /// which is not read.
  View(const JobBoard& board, uint32_t own, const std::vector<uint32_t>& group);

  using Histories = std::vector<std::pair<uint32_t, RankHistory>>;  // with slots
  const Histories& histories() const { return histories_; }
  /// Returns whether all other ranks of the group could be read.
  bool is_whole() const { return whole_; }
  enum class Unknown { counts, does_not_count };
  /// Returns whether the view is closed. unknown: whether a version that a rank could not see keeps it from
  /// that.
  bool is_closed(Unknown unknown) const;

 private:
  void read();
  bool has(const Version& seen, Unknown unknown) const;

  const JobBoard& board_;
  const uint32_t own_;
  const std::vector<uint32_t>& group_;
  Histories histories_;
  std::vector<Version> versions_;  // in this view, by slots of the group
  bool whole_ = false;
};

}  // namespace jitc

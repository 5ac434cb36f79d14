// Counts what a session's communicators do, so that its boundaries can be paired with those of other ranks
// (base/tally.h).
//
// Promises: the same ops give the same counts, live, in replay, and where ops are skipped; a communicator has
// the same name on all its ranks. Called by: ResourceTable, for every op of communicators and collectives, in
// order.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/tally.h"
#include "jitc/generated_ops.h"

namespace jitc {

/// What of a capture under way is in it: collectives that will run when the graph is launched, not now. A
/// stream is captured when the capture began on it, or when it waits for an event that was recorded in the
/// capture.
class CapturedCollectives {
 public:
  explicit CapturedCollectives(uint64_t origin) : streams_{origin} {}
  /// Sees each op while the capture is under way, in order.
  void see(const ops::OpHeader& op);
  bool has(uint64_t stream) const { return streams_.contains(stream); }
  void add(std::span<const ops::CollectiveItem> items) {
    items_.insert(items_.end(), items.begin(), items.end());
  }
  const std::vector<ops::CollectiveItem>& items() const { return items_; }

 private:
  std::set<uint64_t> streams_, events_;
  std::vector<ops::CollectiveItem> items_;
};

std::span<const ops::CollectiveItem> items_of(const ops::Collective& op);

class Communications {
 public:
  using UniqueId = std::array<uint8_t, 128>;

  void join(const ops::CommunicatorCreate& op);
  void split(const ops::CommunicatorSplit& op);
  /// A split tells its rank late, or never: -1.
  void learn_rank(uint64_t handle, int32_t rank);
  void leave(uint64_t handle);
  void count(std::span<const ops::CollectiveItem> items);
  /// Drops communicators that every rank has left, at all places that are kept.
  void forget(const std::vector<uint64_t>& communicators);

  Tally tally() const;
  /// Name of a communicator that the rank belongs to; 0: it belongs to none of that handle.
  uint64_t name_of(uint64_t handle) const;
  /// Handles of communicators whose rank is not known.
  std::vector<uint64_t> without_rank() const;
  /// names: of the communicators that are alive then, by handle.
  void reset(const Tally& tally, const std::map<uint64_t, uint64_t>& names);

 private:
  struct Part {
    Membership membership;
    std::map<std::pair<int32_t, bool>, uint64_t> exchanges;  // by peer, and whether it was received
  };
  Part* part(uint64_t handle);
  void add(uint64_t handle, uint64_t name, int32_t rank);

  std::map<uint64_t, Part> parts_;      // by name
  std::map<uint64_t, uint64_t> names_;  // by handle
};

}  // namespace jitc

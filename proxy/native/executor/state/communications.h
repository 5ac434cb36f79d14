// Counts what a session's communicators do, so that its boundaries can be paired with those of other ranks
// (base/tally.h).
//
// Promises: the same ops give the same counts, live, in replay, and where ops are skipped; a communicator has
// the same name on all its ranks. Called by: ResourceTable, for every op of communicators and collectives, in
// order.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/given.h"
#include "device/backend.h"
#include "jitc/generated_ops.h"

namespace jitc {

class Communications {
 public:
  // Notes what ops do.
  void on(const ops::CommunicatorCreate& op);
  void on(const ops::CommunicatorSplit& op);
  void on(const ops::CommunicatorDestroy& op) { leave(op.handle); }
  void on(const ops::CommunicatorAbort& op) { leave(op.handle); }
  void on(const ops::Collective& op);
  /// Returns what the op would add; nothing while its stream is captured.
  Tally counts_of(const ops::Collective& op) const;
  /// Notes the launch of a graph with these collectives.
  void launch(const ops::OpHeader& op, std::span<const ops::CollectiveItem> items);

  // Captures: their collectives run when the graph is launched, not now.
  using Launched = std::function<std::span<const ops::CollectiveItem>(uint64_t executable)>;
  void begin_capture(uint64_t stream) { captures_.insert_or_assign(stream, Capture{{stream}, {}, {}}); }
  /// Resumes a capture at the point that it had reached.
  void resume_capture(const Resources::Capture& open, const Launched& launched);
  /// Notes each op while a capture is in progress, in order.
  void see(const ops::OpHeader& op);
  std::vector<ops::CollectiveItem> end_capture(uint64_t stream);

  /// Learns ranks in split communicators: from the back end that made them, or from the result of the split.
  void learn_ranks(const Backend& backend);
  void learn_rank(uint64_t handle, std::span<const std::byte> result);
  /// Drops communicators that every rank has left, at all boundaries that are kept.
  void forget(const std::vector<uint64_t>& names);

  Tally tally() const;
  /// Returns what was submitted, what of that is not done by its mark, and its progress; nothing: all is
  /// done.
  Standing standing(const Given::IsDone& is_done) const;
  size_t size() const { return communicators_.size(); }
  /// Returns the live communicators. backend: asked for the unique ids of split ones; those it does not know
  /// are left out.
  std::vector<Resources::Communicator> list(const Backend& backend) const;
  void reset(const Resources& resources);

 private:
  struct Part {
    int32_t rank = Membership::kUnknown;
    bool left = false;
    Given collectives;
    std::map<std::pair<int32_t, bool>, Given> exchanges;  // by peer, and whether it was received
  };
  /// A capture in progress: a stream is captured when the capture began on it, or when it waits for an event
  /// that was recorded in the capture.
  struct Capture {
    std::set<uint64_t> streams, events;
    std::vector<ops::CollectiveItem> items;
    void see(const ops::OpHeader& op);
    void add(std::span<const ops::CollectiveItem> more) {
      items.insert(items.end(), more.begin(), more.end());
    }
  };
  Part* part(uint64_t handle);
  void add(const Resources::Communicator& one, const Given::Mark& joined);
  void leave(uint64_t handle);
  void count(std::span<const ops::CollectiveItem> items, const Given::Mark& mark);

  std::map<uint64_t, Part> parts_;                             // by name
  std::map<uint64_t, Resources::Communicator> communicators_;  // ranks == 0: split, not asked for yet
  std::map<uint64_t, Capture> captures_;                       // by the stream that each began on
};

/// Returns the name of a communicator that is joined by this id.
uint64_t communicator_name(const std::array<uint8_t, 128>& unique_id);

}  // namespace jitc

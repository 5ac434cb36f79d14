// Counts of what a session's communicators have done before a place in its ops, and the boundaries of several
// ranks that belong together by them: a consistent cut.
//
// A boundary is a place in the ops of one rank. Boundaries of two ranks can be restored together only if, for
// each communicator that both belong to, both have made the same collectives before them, and each has
// received what the other had sent. The number of steps that a rank has made does not matter. Joining is the
// first collective of a communicator, and splitting one of its parent. A communicator that a rank has left
// counts with what it had done; once all have left it, it no longer counts.
//
// Called by: the resource table (which counts), the board (which shows it to other ranks), checkpoints and
// step gates (which compare). `proxy/ranks/cuts.py` finds the same cut for a recovery. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace jitc {

/// A rank's part in a communicator.
struct Membership {
  static constexpr int32_t kUnknown = -1;

  uint64_t communicator = 0;  // name, the same on all its ranks
  int32_t rank = kUnknown;    // in it; known late after a split
  uint32_t left = 0;          // 1: destroyed or aborted
  uint64_t collectives = 0;   // the join is the first
  bool operator==(const Membership&) const = default;
};

/// Transfers that the rank has sent to another rank of a communicator, or received from it.
struct Exchange {
  uint64_t communicator = 0;
  int32_t peer = 0;
  uint32_t received = 0;  // 1: from the peer, 0: sent to it
  uint64_t count = 0;
  bool operator==(const Exchange&) const = default;
};

struct Tally {
  std::vector<Membership> memberships;  // by communicator
  std::vector<Exchange> exchanges;      // the same

  const Membership* find(uint64_t communicator) const;
  uint64_t exchanged(uint64_t communicator, int32_t peer, bool received) const;
  bool operator==(const Tally&) const = default;
};

/// A boundary that can be restored, or the start of the session (number 0, nothing done).
struct KeptTally {
  uint64_t number = 0;
  Tally tally;
  bool operator==(const KeptTally&) const = default;
};

/// A rank that stands until what it waits for is done: other ranks have to submit their part.
struct Standing {
  Tally done;      // all that it has submitted
  Tally waits;     // the same of what is not done; a communicator with the join alone is being joined. Empty:
                   // it continues
  Tally finished;  // how much of that is done at least
  bool operator==(const Standing&) const = default;
};

/// A version of what another session's rank shows.
struct Version {
  static constexpr uint64_t kUnknown = UINT64_MAX;  // nothing could be read

  uint64_t session = 0;
  uint64_t number = 0;
  bool operator==(const Version&) const = default;
};

/// State that a rank shows of itself.
struct RankHistory {
  static constexpr size_t kSeenMost = 256;  // as many as a board has slots

  uint64_t version = 0;         // of this session, counted by the board
  std::vector<Version> seen;    // of the ranks that communicators connect with it, when it showed this
  std::vector<KeptTally> kept;  // oldest first
  uint64_t step = 0;  // the newest optimizer step whose begin it has reached, and what it had done then
  Tally at_step;
  Tally now;  // at least this much
  Standing standing;
  bool uneven = false;  // it has found that its steps do not correspond to those of others

  std::vector<uint64_t> pack() const;
  /// Unpacks a history; nothing if the words are no history.
  static std::optional<RankHistory> unpack(std::span<const uint64_t> words);
};

/// Returns the newest boundaries that belong together, per rank an index into `kept`; nothing: none do.
std::optional<std::vector<size_t>> newest_cut(std::span<const RankHistory> ranks);

/// Action of a rank before collectives when other ranks' newest boundaries belong with none of its own.
enum class Encounter {
  none,   // nothing that would help
  waits,  // for these ranks to come to the same collectives: they have then made the boundaries before
  meets,  // it has done what came before a boundary of theirs: one made here belongs with that
};
/// Chooses the action. mine: with a boundary here as the last one that is kept. next: the collectives that it
/// is about to make, counted from 0. calling: the other ranks whose boundaries belong with none. Returns no
/// wait where another rank needs what comes later in this one's ops.
Encounter encounter(const RankHistory& mine, const Tally& next, std::span<const RankHistory> calling,
                    std::span<const RankHistory> others);

/// Returns whether the two ranks can begin their newest steps together.
bool agree_at_step(const RankHistory& one, const RankHistory& other);
/// Returns whether a rank at `here` has issued a collective that another one, at `there`, has not reached.
bool is_ahead(const Tally& here, const Tally& there);

}  // namespace jitc

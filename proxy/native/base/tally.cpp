#include "tally.h"

#include <algorithm>
#include <map>
#include <utility>

namespace jitc {
namespace {

/// A rank at one of its places: an index into `kept`, or behind all of them.
class Place {
 public:
  Place(const RankHistory& rank, size_t index) : rank_(rank), index_(index) {}

  const Tally& tally() const { return rank_.kept[index_].tally; }

  struct Standing {
    uint64_t collectives;
    bool left;
  };
  /// Returns the rank's standing; nothing if it has no part in the communicator, or had left it long before.
  std::optional<Standing> of(uint64_t communicator) const {
    if (const Membership* const one = tally().find(communicator))
      return Standing{one->collectives, one->left != 0};
    const auto has = [&](const KeptTally& kept) { return kept.tally.find(communicator) != nullptr; };
    const bool joins_later =
        std::any_of(rank_.kept.begin() + static_cast<ptrdiff_t>(index_) + 1, rank_.kept.end(), has) ||
        rank_.now.find(communicator) != nullptr;
    const bool had_joined =
        std::any_of(rank_.kept.begin(), rank_.kept.begin() + static_cast<ptrdiff_t>(index_), has);
    return joins_later && !had_joined ? std::optional(Standing{0, false}) : std::nullopt;
  }
  /// Returns the rank in the communicator, known at any of its places.
  int32_t rank_in(uint64_t communicator) const {
    const auto known = [&](const Tally& tally) {
      const Membership* const one = tally.find(communicator);
      return one ? one->rank : Membership::kUnknown;
    };
    int32_t rank = known(rank_.now);
    for (auto kept = rank_.kept.rbegin(); rank == Membership::kUnknown && kept != rank_.kept.rend(); ++kept)
      rank = known(kept->tally);
    return rank;
  }

 private:
  const RankHistory& rank_;
  size_t index_;
};

/// The search for a cut: a rank that is ahead of another one goes back by one boundary, until none is.
class Search {
 public:
  explicit Search(std::span<const RankHistory> ranks) : ranks_(ranks) {
    for (const RankHistory& rank : ranks) {
      at_.push_back(rank.kept.size());
      const auto add = [&](const Tally& tally) {
        for (const Membership& one : tally.memberships) members_[one.communicator];
      };
      for (const KeptTally& kept : rank.kept) add(kept.tally);
      add(rank.now);
    }
    for (auto& [communicator, members] : members_)
      for (size_t i = 0; i < ranks.size(); ++i)
        if (const int32_t rank = Place(ranks[i], 0).rank_in(communicator); rank != Membership::kUnknown)
          members[rank] = i;
  }

  std::optional<std::vector<size_t>> run() {
    for (size_t& at : at_)
      if (at == 0)
        return std::nullopt;
      else
        --at;
    for (;;) {
      const std::optional<size_t> ahead = someone_ahead();
      if (!ahead) return at_;
      if (at_[*ahead] == 0) return std::nullopt;
      --at_[*ahead];
    }
  }

 private:
  Place place(size_t rank) const { return {ranks_[rank], at_[rank]}; }

  std::optional<size_t> someone_ahead() const {
    for (const auto& [communicator, members] : members_) {
      if (const auto one = ahead_in_collectives(communicator)) return one;
      if (const auto one = ahead_in_exchanges(communicator, members)) return one;
    }
    return std::nullopt;
  }

  std::optional<size_t> ahead_in_collectives(uint64_t communicator) const {
    std::optional<std::pair<uint64_t, size_t>> most;
    uint64_t least = UINT64_MAX;
    bool all_left = true;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      const auto standing = place(i).of(communicator);
      if (!standing) continue;
      all_left = all_left && standing->left;
      least = std::min(least, standing->collectives);
      if (!most || standing->collectives > most->first) most = {standing->collectives, i};
    }
    if (!most || all_left || most->first == least) return std::nullopt;
    return most->second;
  }

  std::optional<size_t> ahead_in_exchanges(uint64_t communicator,
                                           const std::map<int32_t, size_t>& members) const {
    for (const auto& [rank, i] : members) {
      const auto standing = place(i).of(communicator);
      if (!standing) continue;
      const auto& all = place(i).tally().exchanges;
      for (const Exchange& one : std::ranges::equal_range(all, communicator, {}, &Exchange::communicator)) {
        const auto other = members.find(one.peer);
        if (one.peer == rank || other == members.end()) continue;
        const Place there = place(other->second);
        const auto its = there.of(communicator);
        if (!its || (its->left && standing->left)) continue;
        const uint64_t theirs = there.tally().exchanged(communicator, rank, !one.received);
        if (one.count > theirs) return i;
        if (one.count < theirs) return other->second;
      }
    }
    return std::nullopt;
  }

  std::span<const RankHistory> ranks_;
  std::vector<size_t> at_;
  std::map<uint64_t, std::map<int32_t, size_t>> members_;  // by communicator: rank in it -> index
};

/// Returns whether the rank is needed for these collectives.
bool takes_part(const RankHistory& rank, const Tally& next) {
  const Place place(rank, 0);
  return std::ranges::any_of(next.memberships, [&](const Membership& one) {
    if (!rank.now.find(one.communicator)) return false;
    return one.collectives != 0 || std::ranges::any_of(next.exchanges, [&](const Exchange& exchange) {
             return exchange.communicator == one.communicator &&
                    exchange.peer == place.rank_in(one.communicator);
           });
  });
}

/// Returns whether a rank has issued collectives that the other one has not, of the communicators that count.
template <typename Counts>
bool came_further(const RankHistory& rank, const RankHistory& other, Counts counts) {
  for (const Membership& one : rank.now.memberships) {
    const Membership* const there = other.now.find(one.communicator);
    if (!there || one.left || there->left || !counts(one.communicator)) continue;
    if (one.collectives > there->collectives) return true;
    const int32_t rank_in = Place(rank, 0).rank_in(one.communicator);
    const int32_t other_in = Place(other, 0).rank_in(one.communicator);
    for (const Exchange& exchange : rank.now.exchanges)
      if (exchange.communicator == one.communicator && exchange.peer == other_in &&
          exchange.count > other.now.exchanged(one.communicator, rank_in, !exchange.received))
        return true;
  }
  return false;
}

void put(std::vector<uint64_t>& words, const Tally& tally) {
  words.push_back(tally.memberships.size());
  for (const Membership& one : tally.memberships) {
    words.push_back(one.communicator);
    words.push_back(uint64_t{one.left} << 32 | static_cast<uint32_t>(one.rank));
    words.push_back(one.collectives);
  }
  words.push_back(tally.exchanges.size());
  for (const Exchange& one : tally.exchanges) {
    words.push_back(one.communicator);
    words.push_back(uint64_t{one.received} << 32 | static_cast<uint32_t>(one.peer));
    words.push_back(one.count);
  }
}

/// Reader of words from the front; once there are too few, it stays failed.
class Reader {
 public:
  explicit Reader(std::span<const uint64_t> words) : words_(words) {}
  uint64_t word() {
    if (words_.empty()) return fails_ = true, 0;
    const uint64_t word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }
  /// Returns a number of things of at least so many words.
  uint64_t count(size_t words) {
    const uint64_t count = word();
    if (count <= words_.size() / words) return count;
    fails_ = true;
    return 0;
  }
  Tally tally() {
    Tally tally;
    for (uint64_t left = count(3); left; --left) {
      Membership one{word()};
      const uint64_t who = word();
      one.rank = static_cast<int32_t>(who), one.left = static_cast<uint32_t>(who >> 32);
      one.collectives = word();
      tally.memberships.push_back(one);
    }
    for (uint64_t left = count(3); left; --left) {
      Exchange one{word()};
      const uint64_t who = word();
      one.peer = static_cast<int32_t>(who), one.received = static_cast<uint32_t>(who >> 32);
      one.count = word();
      tally.exchanges.push_back(one);
    }
    return tally;
  }
  bool whole() const { return !fails_ && words_.empty(); }

 private:
  std::span<const uint64_t> words_;
  bool fails_ = false;
};
}  // namespace

const Membership* Tally::find(uint64_t communicator) const {
  const auto found = std::ranges::lower_bound(memberships, communicator, {}, &Membership::communicator);
  return found == memberships.end() || found->communicator != communicator ? nullptr : &*found;
}

uint64_t Tally::exchanged(uint64_t communicator, int32_t peer, bool received) const {
  for (const Exchange& one : std::ranges::equal_range(exchanges, communicator, {}, &Exchange::communicator))
    if (one.peer == peer && (one.received != 0) == received) return one.count;
  return 0;
}

std::optional<std::vector<size_t>> newest_cut(std::span<const RankHistory> ranks) {
  return Search(ranks).run();
}

Encounter encounter(const RankHistory& mine, const Tally& next, std::span<const RankHistory> calling,
                    std::span<const RankHistory> others) {
  const auto is_next = [&](uint64_t communicator) { return next.find(communicator) != nullptr; };
  const auto needs_later = [&](const RankHistory& one) {
    return came_further(one, mine, [&](uint64_t communicator) { return !is_next(communicator); });
  };
  std::vector<RankHistory> ranks{mine};
  for (const RankHistory& one : calling)
    if (takes_part(one, next)) ranks.push_back(one);
  const size_t here = mine.kept.size() - 1;
  const bool is_new = here == 0 || !(mine.kept[here - 1].tally == mine.kept[here].tally);
  if (ranks.size() == 1 || !is_new) return Encounter::none;
  if (std::ranges::any_of(calling, needs_later) || std::ranges::any_of(others, needs_later))
    return Encounter::none;
  for (const RankHistory& one : std::span(ranks).subspan(1))
    if (!came_further(one, mine, is_next)) return Encounter::waits;
  const auto cut = newest_cut(ranks);
  return cut && cut->front() == here ? Encounter::meets : Encounter::none;
}

bool agree_at_step(const RankHistory& one, const RankHistory& other) {
  const auto at_step = [](const RankHistory& of) {
    RankHistory only;
    only.kept = {{of.step, of.at_step}};
    only.now = of.now;
    return only;
  };
  const RankHistory both[] = {at_step(one), at_step(other)};
  return newest_cut(both).has_value();
}

bool is_ahead(const Tally& here, const Tally& there) {
  return std::ranges::any_of(here.memberships, [&](const Membership& one) {
    const Membership* const its = there.find(one.communicator);
    return its && one.collectives > its->collectives;
  });
}

std::vector<uint64_t> RankHistory::pack() const {
  std::vector<uint64_t> words{version, uneven, step, kept.size()};
  for (const KeptTally& one : kept) {
    words.push_back(one.number);
    put(words, one.tally);
  }
  put(words, at_step);
  put(words, now);
  put(words, standing.done);
  put(words, standing.waits);
  put(words, standing.finished);
  words.push_back(seen.size());
  for (const Version& one : seen) words.insert(words.end(), {one.session, one.number});
  return words;
}

std::optional<RankHistory> RankHistory::unpack(std::span<const uint64_t> words) {
  Reader reader(words);
  RankHistory history;
  history.version = reader.word();
  history.uneven = reader.word() != 0;
  history.step = reader.word();
  for (uint64_t left = reader.count(3); left; --left) {
    KeptTally one{reader.word(), {}};
    one.tally = reader.tally();
    history.kept.push_back(std::move(one));
  }
  history.at_step = reader.tally();
  history.now = reader.tally();
  history.standing.done = reader.tally();
  history.standing.waits = reader.tally();
  history.standing.finished = reader.tally();
  for (uint64_t left = reader.count(2); left; --left) {
    const uint64_t session = reader.word();
    history.seen.push_back({session, reader.word()});
  }
  if (history.version == Version::kUnknown || history.seen.size() > kSeenMost) return std::nullopt;
  return reader.whole() ? std::optional(std::move(history)) : std::nullopt;
}

}  // namespace jitc

#include "job_board.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <unordered_set>
#include <utility>

namespace jitc {

/// Joins. The service and the bridge may both add names to a mirror slot: a place is taken by whoever finds
/// it free.
bool JobBoard::join(uint32_t slot_index, uint64_t communicator) const {
  JobNames& names = names_of(slot_index);
  std::atomic<uint32_t>& used = slot(slot_index).communicators;
  for (uint32_t i = 0; i < std::min<uint64_t>(used.load(), names.size()); ++i)
    if (names[i].load() == communicator) return true;
  for (uint32_t i = 0; i < names.size(); ++i) {
    uint64_t there = names[i].load();
    if (there != 0 && there != communicator) continue;
    for (uint32_t known = used.load(); known <= i && !used.compare_exchange_weak(known, i + 1);) {
    }
    if (there == 0 && !names[i].compare_exchange_strong(there, communicator) && there != communicator)
      continue;
    tell_bridge();
    return true;
  }
  return false;
}

void JobBoard::part(uint32_t slot_index, uint64_t communicator) const {
  JobNames& names = names_of(slot_index);
  for (uint32_t i = 0; i < std::min<uint64_t>(slot(slot_index).communicators.load(), names.size()); ++i)
    if (uint64_t there = communicator) names[i].compare_exchange_strong(there, 0);
}

std::vector<uint64_t> JobBoard::names(uint32_t slot_index) const {
  std::vector<uint64_t> found;
  const uint64_t used =
      std::min<uint64_t>(slot(slot_index).communicators.load(), names_of(slot_index).size());
  for (uint64_t i = 0; i < used; ++i)
    if (const uint64_t name = names_of(slot_index)[i].load()) found.push_back(name);
  return found;
}

std::vector<uint32_t> JobBoard::group(uint32_t slot_index, const std::vector<uint32_t>& named) const {
  std::vector<uint32_t> found{slot_index}, rest;
  for (uint32_t one = 0; one < kSlots; ++one)
    if (one != slot_index && slot(one).session.load())
      (std::ranges::count(named, one) ? found : rest).push_back(one);
  std::unordered_set<uint64_t> reached;
  for (size_t done = 0; done < found.size(); ++done) {
    for (const uint64_t name : names(found[done])) reached.insert(name);
    std::erase_if(rest, [&](uint32_t candidate) {
      const auto its = names(candidate);
      const bool connected = std::ranges::any_of(its, [&](uint64_t name) { return reached.contains(name); });
      if (connected) found.push_back(candidate);
      return connected;
    });
  }
  return found;
}

uint64_t JobBoard::least(const std::vector<uint32_t>& chosen,
                         std::atomic<uint64_t> JobSlot::* counter) const {
  uint64_t least = UINT64_MAX;
  for (const uint32_t one : chosen) least = std::min(least, (slot(one).*counter).load());
  return least;
}

bool JobBoard::show(uint32_t slot_index, const RankHistory& history) const {
  std::vector<uint64_t> words = history.pack();
  words.front() = history_of(slot_index).words.front().load() + 1;  // goes on also with another worker
  const bool fits = words.size() <= JobHistory::kWords;
  show_words(slot_index, fits ? words : std::span<const uint64_t>());
  tell_bridge();
  return fits;
}

std::vector<Version> JobBoard::seen_from(uint32_t slot_index) const {
  std::vector<Version> found;
  for (const uint32_t one : group(slot_index, {}))
    if (one != slot_index) found.push_back({slot(one).session.load(), version(one)});
  return found;
}

uint64_t JobBoard::version(uint32_t slot_index) const {
  const JobHistory& shown = history_of(slot_index);
  return shown.count.load() ? shown.words.front().load() : Version::kUnknown;
}

void JobBoard::show_words(uint32_t slot_index, std::span<const uint64_t> words) const {
  JobHistory& shown = history_of(slot_index);
  const uint64_t revision = shown.revision.load(std::memory_order_relaxed) | 1;
  shown.revision.store(revision, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  shown.count.store(words.size(), std::memory_order_relaxed);
  for (size_t i = 0; i < words.size(); ++i) shown.words[i].store(words[i], std::memory_order_relaxed);
  shown.revision.store(revision + 1, std::memory_order_release);
}

std::optional<JobBoard::Shown> JobBoard::shown(uint32_t slot_index) const {
  constexpr int kTries = 100;  // a write takes microseconds
  JobHistory& from = history_of(slot_index);
  for (int left = kTries; left; --left) {
    const uint64_t before = from.revision.load(std::memory_order_acquire);
    std::vector<uint64_t> words(
        std::min<uint64_t>(from.count.load(std::memory_order_relaxed), from.words.size()));
    for (size_t i = 0; i < words.size(); ++i) words[i] = from.words[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && from.revision.load(std::memory_order_relaxed) == before)
      return Shown{before, std::move(words)};
  }
  return std::nullopt;
}

std::optional<RankHistory> JobBoard::history(uint32_t slot_index) const {
  const auto found = shown(slot_index);
  return found && !found->words.empty() ? RankHistory::unpack(found->words) : std::nullopt;
}

void JobBoard::leave(uint32_t slot_index) const {
  JobSlot& own = slot(slot_index);
  own.session.store(0);
  JobNames& names = names_of(slot_index);  // the next session is in none of them
  for (uint32_t i = 0; i < std::min<uint64_t>(own.communicators.load(), names.size()); ++i) names[i].store(0);
  own.communicators.store(0);
  for (auto* const counter :
       {&own.epoch, &own.prepared, &own.reached, &own.begun, &own.unskippable, &own.alone})
    counter->store(0);
  JobHistory& shown = history_of(slot_index);
  shown.count.store(0);
  shown.revision.store((shown.revision.load() | 1) + 1);
  ring();
}

bool JobBoard::enter(uint32_t slot_index, uint64_t session, uint64_t epoch,
                     std::span<const uint64_t> names) const {
  JobSlot& own = slot(slot_index);
  const bool known = own.session.load() == session;
  if (!known) leave(slot_index);
  bool all = true;
  for (const uint64_t name : names) all = join(slot_index, name) && all;
  if (!known) own.epoch.store(epoch);
  own.session.store(session);  // last: from now on it is counted
  wake();
  return all;
}

void JobBoard::begin_epoch(uint32_t slot_index, uint64_t epoch, const JobCounters& counters) const {
  JobSlot& own = slot(slot_index);
  show_words(slot_index, {});
  own.unskippable.store(counters.unskippable);
  own.alone.store(counters.alone);
  own.reached.store(counters.reached);
  own.begun.store(counters.begun);
  own.prepared.store(counters.prepared);
  own.epoch.store(epoch);
  wake();
}

void JobBoard::ring() const {
  wake();
  tell_bridge();
}

void JobBoard::wake() const {
  doorbells().ranks.fetch_add(1);
  syscall(SYS_futex, &doorbells().ranks, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void JobBoard::wait(uint32_t seen, int milliseconds) const {
  const timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000L};
  syscall(SYS_futex, &doorbells().ranks, FUTEX_WAIT, seen, &time, nullptr, 0);
}

}  // namespace jitc

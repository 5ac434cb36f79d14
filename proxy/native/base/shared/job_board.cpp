#include "job_board.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <unordered_set>

namespace jitc {

bool JobBoard::join(uint32_t slot_index, uint64_t communicator) const {
  JobNames& names = names_of(slot_index);
  std::atomic<uint32_t>& used = slot(slot_index).communicators;
  std::optional<uint32_t> free;
  for (uint32_t i = 0; i < used.load(); ++i) {
    if (names[i].load() == communicator) return true;
    if (!names[i].load() && !free) free = i;
  }
  if (!free && used.load() == names.size()) return false;
  names[free.value_or(used.load())].store(communicator);
  if (!free) ++used;
  return true;
}

void JobBoard::part(uint32_t slot_index, uint64_t communicator) const {
  JobNames& names = names_of(slot_index);
  for (uint32_t i = 0; i < slot(slot_index).communicators.load(); ++i)
    if (names[i].load() == communicator) names[i].store(0);
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
  JobHistory& shown = history_of(slot_index);
  const std::vector<uint64_t> words = history.pack();
  const bool fits = words.size() <= JobHistory::kWords;
  const uint64_t revision = shown.revision.load(std::memory_order_relaxed) | 1;
  shown.revision.store(revision, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  shown.count.store(fits ? words.size() : 0, std::memory_order_relaxed);
  for (size_t i = 0; fits && i < words.size(); ++i) shown.words[i].store(words[i], std::memory_order_relaxed);
  shown.revision.store(revision + 1, std::memory_order_release);
  return fits;
}

std::optional<RankHistory> JobBoard::history(uint32_t slot_index) const {
  constexpr int kTries = 100;  // a write takes microseconds
  JobHistory& shown = history_of(slot_index);
  for (int left = kTries; left; --left) {
    const uint64_t before = shown.revision.load(std::memory_order_acquire);
    std::vector<uint64_t> words(
        std::min<uint64_t>(shown.count.load(std::memory_order_relaxed), shown.words.size()));
    for (size_t i = 0; i < words.size(); ++i) words[i] = shown.words[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && shown.revision.load(std::memory_order_relaxed) == before)
      return words.empty() ? std::nullopt : RankHistory::unpack(words);
  }
  return std::nullopt;
}

void JobBoard::leave(uint32_t slot_index) const {
  JobSlot& own = slot(slot_index);
  own.session.store(0);
  own.communicators.store(0);
  for (auto* const counter :
       {&own.epoch, &own.prepared, &own.reached, &own.begun, &own.unskippable, &own.alone})
    counter->store(0);
  JobHistory& shown = history_of(slot_index);
  shown.count.store(0);
  shown.revision.store((shown.revision.load() | 1) + 1);
  ring();
}

void JobBoard::ring() const {
  doorbell_word().fetch_add(1);
  syscall(SYS_futex, &doorbell_word(), FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void JobBoard::wait(uint32_t seen, int milliseconds) const {
  const timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000L};
  syscall(SYS_futex, &doorbell_word(), FUTEX_WAIT, seen, &time, nullptr, 0);
}

}  // namespace jitc

#include "board.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/checksum.h"

namespace jitc {

void Board::join(uint32_t slot_index, const std::array<uint8_t, 128>& unique_id) const {
  const Hash hash = hash_bytes(std::as_bytes(std::span(unique_id)));
  uint64_t key = 0;
  for (int i = 0; i < 8; ++i) key = key << 8 | hash[i];
  BoardSlot& own = slot(slot_index);
  const uint32_t count = std::min<uint32_t>(own.communicators.load(), own.keys.size());
  for (uint32_t i = 0; i < count; ++i)
    if (own.keys[i].load() == key) return;
  if (count == own.keys.size()) return;  // more would hardly connect another session
  own.keys[count].store(key);
  own.communicators.store(count + 1);
}

std::vector<uint32_t> Board::group(uint32_t slot_index, const std::vector<uint32_t>& named) const {
  std::vector<uint32_t> found{slot_index};
  for (const uint32_t one : named)
    if (one < kSlots && one != slot_index && slot(one).session.load()) found.push_back(one);
  std::vector<uint64_t> keys;
  for (size_t done = 0; done < found.size(); ++done) {
    const BoardSlot& one = slot(found[done]);
    const uint32_t count = std::min<uint32_t>(one.communicators.load(), one.keys.size());
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t key = one.keys[i].load();
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      keys.push_back(key);
      for (uint32_t other = 0; other < kSlots; ++other) {
        const BoardSlot& candidate = slot(other);
        if (!candidate.session.load() || std::find(found.begin(), found.end(), other) != found.end())
          continue;
        const uint32_t its = std::min<uint32_t>(candidate.communicators.load(), candidate.keys.size());
        for (uint32_t k = 0; k < its; ++k)
          if (candidate.keys[k].load() == key) {
            found.push_back(other);
            break;
          }
      }
    }
  }
  return found;
}

uint64_t Board::least(const std::vector<uint32_t>& chosen, std::atomic<uint64_t> BoardSlot::* counter) const {
  uint64_t least = UINT64_MAX;
  for (const uint32_t one : chosen) least = std::min(least, (slot(one).*counter).load());
  return least;
}

bool Board::show(uint32_t slot_index, const RankHistory& history) const {
  BoardHistory& shown = history_of(slot_index);
  const std::vector<uint64_t> words = history.pack();
  const bool fits = words.size() <= BoardHistory::kWords;
  const uint64_t revision = shown.revision.load(std::memory_order_relaxed) | 1;
  shown.revision.store(revision, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  shown.count.store(fits ? words.size() : 0, std::memory_order_relaxed);
  for (size_t i = 0; fits && i < words.size(); ++i)
    shown.words[i].store(words[i], std::memory_order_relaxed);
  shown.revision.store(revision + 1, std::memory_order_release);
  return fits;
}

std::optional<RankHistory> Board::history(uint32_t slot_index) const {
  constexpr int kTries = 100;  // a write takes microseconds
  BoardHistory& shown = history_of(slot_index);
  for (int left = kTries; left; --left) {
    const uint64_t before = shown.revision.load(std::memory_order_acquire);
    std::vector<uint64_t> words(std::min<uint64_t>(shown.count.load(std::memory_order_relaxed), shown.words.size()));
    for (size_t i = 0; i < words.size(); ++i) words[i] = shown.words[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && shown.revision.load(std::memory_order_relaxed) == before)
      return words.empty() ? std::nullopt : RankHistory::unpack(words);
  }
  return std::nullopt;
}

void Board::leave(uint32_t slot_index) const {
  BoardSlot& own = slot(slot_index);
  own.session.store(0);
  own.communicators.store(0);
  for (auto* const counter : {&own.epoch, &own.prepared, &own.reached, &own.begun, &own.unskippable})
    counter->store(0);
  BoardHistory& shown = history_of(slot_index);
  shown.count.store(0);
  shown.revision.store((shown.revision.load() | 1) + 1);
  ring();
}

void Board::clear(uint32_t slot_index) const {
  leave(slot_index);
  slot(slot_index).gpu.store(0);
  slot(slot_index).memory.store(0);
  slot(slot_index).copies.store(0);
  slot(slot_index).guest.store(0);
  slot(slot_index).stays.store(0);
  slot(slot_index).wants_since.store(0);
}

uint32_t Board::doorbell() const { return doorbell_word().load(); }

void Board::ring() const {
  doorbell_word().fetch_add(1);
  syscall(SYS_futex, &doorbell_word(), FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void Board::wait(uint32_t seen, int milliseconds) const {
  const timespec time{milliseconds / 1000, (milliseconds % 1000) * 1'000'000L};
  syscall(SYS_futex, &doorbell_word(), FUTEX_WAIT, seen, &time, nullptr, 0);
}

}  // namespace jitc

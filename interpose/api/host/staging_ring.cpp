// See staging_ring.h.
#include "staging_ring.h"

#include <algorithm>
#include <unordered_map>

#include "host_memory.h"
#include "session/order_check.h"

namespace jitc::api {
namespace {

/// Most slots: those that the worker reads while the program fills the next ones, plus reserve for a
/// thread that wakes up late.
constexpr uint64_t kMostSlots = 32;
/// Divisor of the shared memory for a ring; the program's own pinned memory has the rest.
constexpr uint64_t kShareOfAll = 8;

struct Rings {
  std::mutex mutex;
  std::unordered_map<const Session*, StagingRing*> by_session;
};

StagingRing* make(Session& session) {
  const uint64_t slots = std::min(kMostSlots, shared_bytes(session) / kShareOfAll / StagingRing::kSlotBytes);
  std::byte* const memory = slots ? take_shared(session, slots * StagingRing::kSlotBytes) : nullptr;
  return memory ? new StagingRing(session, memory, slots) : nullptr;
}

}  // namespace

/// Refuses a ring if the order of ops is checked, which knows only the program's memory, and in a forked
/// child: its sessions are over, and it must not write where its parent does.
StagingRing* StagingRing::of(Session& session) {
  if (session.status() || session::order_check::is_wanted()) return nullptr;
  static auto& all = *new Rings;
  {
    const std::lock_guard lock(all.mutex);
    const auto [entry, is_new] = all.by_session.try_emplace(&session, nullptr);
    if (!is_new) return entry->second;  // other threads do without while one makes it
  }
  StagingRing* const made = make(session);
  const std::lock_guard lock(all.mutex);
  return all.by_session[&session] = made;
}

StagingRing::StagingRing(Session& session, std::byte* memory, size_t slots)
    : session_(session), memory_(memory), slots_(slots) {}

/// Returns a free slot, or the number of slots if there is none. Requires the lock.
size_t StagingRing::find_free() {
  for (size_t tried = 0; tried < slots_.size(); ++tried) {
    const size_t number = next_++ % slots_.size();
    const Slot& slot = slots_[number];
    if (!slot.taken || (slot.until && session_.acknowledged(slot.until, Session::Wait::no))) return number;
  }
  return slots_.size();
}

/// Returns the oldest sent op; 0: none. Requires the lock.
uint64_t StagingRing::oldest_sent() const {
  uint64_t oldest = 0;
  for (const Slot& slot : slots_)
    if (slot.until && (!oldest || slot.until < oldest)) oldest = slot.until;
  return oldest;
}

std::byte* StagingRing::take() {
  for (;;) {
    uint64_t oldest;
    {
      const std::lock_guard lock(mutex_);
      if (const size_t number = find_free(); number < slots_.size()) {
        slots_[number] = {true, 0};
        return memory_ + number * kSlotBytes;
      }
      oldest = oldest_sent();
    }
    if (!oldest || !session_.acknowledged(oldest, Session::Wait::yes)) return nullptr;
  }
}

void StagingRing::sent(const std::byte* memory, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  slot_of(memory).until = sequence;
}

void StagingRing::give_back(const std::byte* memory) {
  const std::lock_guard lock(mutex_);
  slot_of(memory) = {};
}

}  // namespace jitc::api

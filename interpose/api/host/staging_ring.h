// Staging memory for copies of pageable memory between the program and the worker: the slots of a ring that
// both have mapped, so that each side moves the bytes once and no socket carries them.
//
// Used by host_copy.cpp. Promises: one copy at a time uses a slot; a copy to the device keeps it until the op
// is in the worker's journal, which has the bytes then, and one to the host until the program has them; no
// lock is held across a wait. The first copy that benefits from a ring makes it; it is never destroyed.
#pragma once
#include <cstddef>
#include <mutex>
#include <vector>

#include "host_copy.h"
#include "session/session.h"

namespace jitc::api {

class StagingRing {
 public:
  static constexpr uint64_t kSlotBytes = kPiece;
  /// Returns the session's ring; nullptr: its worker shares no memory, or has too little, or the session is
  /// over.
  static StagingRing* of(Session& session);

  StagingRing(Session& session, std::byte* memory, size_t slots);
  /// Returns a free slot, after waiting for the worker to journal the oldest copy to the device if there is
  /// none. nullptr: copies to the host have all of them, or the session is over.
  std::byte* take();
  /// Notes the sequence of the op that copies a slot to the device.
  void sent(const std::byte* memory, uint64_t sequence);
  void give_back(const std::byte* memory);

 private:
  struct Slot {
    bool taken = false;
    uint64_t until = 0;  // free as soon as this op is in the journal
  };
  size_t find_free();
  uint64_t oldest_sent() const;
  Slot& slot_of(const std::byte* memory) {
    return slots_[static_cast<size_t>(memory - memory_) / kSlotBytes];
  }

  Session& session_;
  std::byte* const memory_;
  std::mutex mutex_;  // guards the rest
  std::vector<Slot> slots_;
  size_t next_ = 0;
};

}  // namespace jitc::api

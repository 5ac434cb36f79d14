// Table class for all objects that the program holds a handle of.
//
// Used by stream, event, collective, mapping, blas, blaslt and dnn. Promises: a handle is never reused for
// another object, so a stale or invented one is recognized; look-ups copy the object out and never block each
// other; a table at the limit for one program accepts no more. A handle looks like an even, non-negative,
// non-zero 64-bit number and is never dereferenced: 22 bits generation, 24 bits slot, 8 bits kind, 8 zero
// bits.
#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace jitc::api {

enum class Kind : uint8_t {
  stream = 1,
  event,
  comm,
  blas,
  lt,
  layout,
  matmul_desc,
  preference,
  dnn,
  descriptor,
  module = 32,
  function,
  kernel,
  library,
  graph,
  executable,
  memory,
  plan,
  group_event = 64,
};

/// Returns a number for an object in no table. It is never returned twice and is never an address of the
/// program, so that the two cannot be confused.
uint64_t new_handle(Kind kind);

/// Table of objects. kGenerations: how often a slot is used before a handle may come again (with kResting
/// slots in between, after 272 million destroyed objects).
template <class T, Kind kKind, uint32_t kGenerations = 1u << 22>
class HandleTable {
 public:
  using Value = T;

  /// Adds a value; 0: there are `most` of them already.
  uint64_t add(const T& value, size_t most = kSlots - 1) {
    std::unique_lock lock(mutex_);
    if (slots_.size() - free_.size() >= most) return 0;
    uint32_t slot;
    // A slot rests until many others were freed, so that its generation does not wrap early.
    if (free_.size() > kResting) {
      slot = free_.front();
      free_.pop_front();
    } else {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    }
    slots_[slot].live = true;
    slots_[slot].value = value;
    return make(slot, slots_[slot].generation);
  }

  bool get(uint64_t handle, T* out) const {
    std::shared_lock lock(mutex_);
    const Slot* slot = find(handle);
    if (!slot) return false;
    *out = slot->value;
    return true;
  }

  /// Calls read(const T&) under the table's lock.
  template <class Read>
  bool visit(uint64_t handle, Read&& read) const {
    std::shared_lock lock(mutex_);
    const Slot* slot = find(handle);
    if (slot) read(slot->value);
    return slot != nullptr;
  }

  /// Calls change(T&) under the table's lock.
  template <class Change>
  bool update(uint64_t handle, Change&& change) {
    std::unique_lock lock(mutex_);
    auto* slot = const_cast<Slot*>(find(handle));
    if (!slot) return false;
    change(slot->value);
    return true;
  }

  bool remove(uint64_t handle, T* out) {
    std::unique_lock lock(mutex_);
    auto* slot = const_cast<Slot*>(find(handle));
    if (!slot) return false;
    *out = slot->value;
    slot->value = T{};
    slot->live = false;
    slot->generation = (slot->generation + 1) % kGenerations;
    free_.push_back(static_cast<uint32_t>(slot - slots_.data()));
    return true;
  }

  bool contains(uint64_t handle) const {
    std::shared_lock lock(mutex_);
    return find(handle) != nullptr;
  }

 private:
  struct Slot {
    T value{};
    uint32_t generation = 0;
    bool live = false;
  };
  static constexpr size_t kResting = 64;
  static constexpr size_t kSlots = (1u << 24) - kResting;

  static uint64_t make(uint32_t slot, uint32_t generation) {
    return uint64_t{generation} << 40 | uint64_t{slot} << 16 | uint64_t{static_cast<uint8_t>(kKind)} << 8;
  }
  const Slot* find(uint64_t handle) const {
    const auto slot = static_cast<uint32_t>(handle >> 16) & 0xffffff;
    if (slot >= slots_.size() || !slots_[slot].live || make(slot, slots_[slot].generation) != handle)
      return nullptr;
    return &slots_[slot];
  }

  mutable std::shared_mutex mutex_;
  std::vector<Slot> slots_;
  std::deque<uint32_t> free_;
};

}  // namespace jitc::api

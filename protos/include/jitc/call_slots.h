// The codec of a library's call as it travels (protos/ops/calls.py): objects, then a call, each slot 16
// bytes.
//
// Used by the API layer, which writes calls and reads what it wrote; by the cuda device, which reads them and
// writes the older form of cuBLAS calls anew; by tests. Promises: take_slot reads what CallWriter wrote;
// equal calls become equal bytes; a read never reaches past the end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "generated_ops.h"
#include "packed_reader.h"

namespace jitc {

inline constexpr uint32_t kSlotKinds = static_cast<uint32_t>(ops::SlotKind::result) + 1;
/// Most bytes of a scalar: a complex number in double precision.
inline constexpr uint32_t kWidestScalar = 16;

constexpr bool is_kind(const ops::CallSlot& slot, ops::SlotKind kind) {
  return slot.kind == static_cast<uint32_t>(kind);
}
/// Returns whether its bytes follow the slot, padded to 8.
constexpr bool is_followed(const ops::CallSlot& slot) {
  return is_kind(slot, ops::SlotKind::array) || is_kind(slot, ops::SlotKind::objects) ||
         (is_kind(slot, ops::SlotKind::scalar) && slot.bytes > sizeof slot.value);
}

/// A slot, and the place of its bytes: those that follow it, else its value.
struct SlotView {
  ops::CallSlot slot;
  std::span<const std::byte> data;
  bool is(ops::SlotKind kind) const { return is_kind(slot, kind); }
  int64_t number() const { return static_cast<int64_t>(slot.value); }
  /// Calls see(place) for each object that the call mentions.
  template <class See>
  void each_place(See&& see) const {
    if (!is(ops::SlotKind::object) && !is(ops::SlotKind::objects)) return;
    for (PackedReader places(data); !places.rest().empty();) {
      uint64_t place = 0;
      if (!places.take(&place)) return;
      see(place);
    }
  }
};

/// Takes the slot at the front. Returns false if it is not whole.
[[nodiscard]] inline bool take_slot(PackedReader& reader, SlotView* out) {
  std::span<const std::byte> head;
  if (!reader.bytes(sizeof out->slot, &head)) return false;
  std::memcpy(&out->slot, head.data(), sizeof out->slot);
  if (!is_followed(out->slot)) return out->data = head.first(sizeof out->slot.value), true;
  const uint64_t padded = (uint64_t{out->slot.bytes} + 7) & ~uint64_t{7};
  if (!reader.bytes(padded, &out->data)) return false;
  out->data = out->data.first(out->slot.bytes);
  return true;
}

/// Writer of objects and calls, one behind the other: begin, then a slot per argument.
class CallWriter {
 public:
  void reserve(size_t bytes) { bytes_.reserve(bytes); }
  void object_head(ops::ObjectKind kind, uint32_t calls) {
    append(ops::ObjectHead{static_cast<uint32_t>(kind), calls});
  }
  void begin(uint32_t function) {
    call_ = bytes_.size();
    append(ops::CallHead{function, 0});
  }

  void number(int64_t value) { add(ops::SlotKind::number, static_cast<uint64_t>(value)); }
  void real(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    add(ops::SlotKind::real, bits);
  }
  /// Adds an address; 0: null.
  void address(uint64_t value) { add(value ? ops::SlotKind::address : ops::SlotKind::null, value); }
  void null() { add(ops::SlotKind::null, 0); }
  void handle() { add(ops::SlotKind::handle, 0); }
  void object(uint64_t place) { add(ops::SlotKind::object, place); }
  void objects(std::span<const uint64_t> places) {
    add_followed(ops::SlotKind::objects, places.data(), places.size_bytes());
  }
  /// Adds a scalar of at most kWidestScalar bytes.
  void scalar(const void* at, uint32_t bytes) {
    uint64_t value = 0;
    if (bytes > sizeof value) return add_followed(ops::SlotKind::scalar, at, bytes);
    std::memcpy(&value, at, bytes);
    add(ops::SlotKind::scalar, value, bytes);
  }
  void array(const void* at, uint64_t bytes) { add_followed(ops::SlotKind::array, at, bytes); }
  void result(uint64_t bytes) { add(ops::SlotKind::result, 0, static_cast<uint32_t>(bytes)); }

  std::span<const std::byte> bytes() const { return bytes_; }

 protected:
  void add_bytes(const void* at, size_t bytes) {
    const size_t before = bytes_.size();
    bytes_.resize(before + bytes);  // not insert, which GCC 12 takes for one out of bounds
    if (bytes) std::memcpy(bytes_.data() + before, at, bytes);
  }
  std::vector<std::byte> bytes_;
  size_t call_ = 0;  // where the call begins

 private:
  template <class Record>
  void append(const Record& record) {
    add_bytes(&record, sizeof record);
  }
  void add(ops::SlotKind kind, uint64_t value, uint32_t bytes = 8) {
    append(ops::CallSlot{value, static_cast<uint32_t>(kind), bytes});
    ops::CallHead head;
    std::memcpy(&head, bytes_.data() + call_, sizeof head);
    ++head.slots;
    std::memcpy(bytes_.data() + call_, &head, sizeof head);
  }
  void add_followed(ops::SlotKind kind, const void* at, uint64_t bytes) {
    add(kind, 0, static_cast<uint32_t>(bytes));
    add_bytes(at, bytes);
    bytes_.resize((bytes_.size() + 7) & ~size_t{7});
  }
};

}  // namespace jitc

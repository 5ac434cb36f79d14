// See dnn_record.h.
#include "dnn_record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace jitc::api {
namespace {

using ops::DnnSlot;
using ops::DnnSlotKind;

template <class T>
void append(std::vector<std::byte>& out, const T& record) {
  const auto* from = reinterpret_cast<const std::byte*>(&record);
  out.insert(out.end(), from, from + sizeof record);
}

uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

bool followed(const DnnSlot& slot) {
  return slot.kind == static_cast<uint32_t>(DnnSlotKind::array) ||
         slot.kind == static_cast<uint32_t>(DnnSlotKind::objects);
}

/// Calls see(slot, its offset, the offset of its bytes) for each slot. The bytes are trusted: DnnSlots wrote
/// them.
template <class See>
void each_slot(std::span<const std::byte> bytes, See&& see) {
  for (size_t at = 0; at < bytes.size();) {
    DnnSlot slot;
    std::memcpy(&slot, bytes.data() + at, sizeof slot);
    const size_t rest = at + sizeof slot;
    see(slot, at, rest);
    at = rest + (followed(slot) ? padded(slot.bytes) : 0);
  }
}

uint64_t word_at(std::span<const std::byte> bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}
void set_word(std::span<std::byte> bytes, size_t at, uint64_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof word);
}

/// Replaces indices into mentioned by indices of the op's objects.
void set_places(std::span<std::byte> bytes, const std::vector<uint64_t>& places) {
  each_slot(bytes, [&](const DnnSlot& slot, size_t at, size_t rest) {
    if (slot.kind == static_cast<uint32_t>(DnnSlotKind::object)) set_word(bytes, at, places[slot.value]);
    if (slot.kind != static_cast<uint32_t>(DnnSlotKind::objects)) return;
    for (size_t one = rest; one < rest + slot.bytes; one += 8)
      set_word(bytes, one, places[word_at(bytes, one)]);
  });
}

}  // namespace

void DnnSlots::add(DnnSlotKind kind, uint64_t value, uint32_t bytes) {
  append(bytes_, DnnSlot{value, static_cast<uint32_t>(kind), bytes});
  ++count_;
}
void DnnSlots::add_bytes(const void* at, uint64_t bytes) {
  const auto* from = static_cast<const std::byte*>(at);
  bytes_.insert(bytes_.end(), from, from + bytes);
  bytes_.resize(bytes_.size() + padded(bytes) - bytes);
}

void DnnSlots::number(int64_t value) { add(DnnSlotKind::number, static_cast<uint64_t>(value)); }
void DnnSlots::real(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  add(DnnSlotKind::real, bits);
}
void DnnSlots::address(uint64_t value) { value ? add(DnnSlotKind::address, value) : null(); }
void DnnSlots::null() { add(DnnSlotKind::null, 0); }
void DnnSlots::handle() { add(DnnSlotKind::handle, 0); }
void DnnSlots::object(DnnRecordPointer what) {
  add(DnnSlotKind::object, mentioned_.size());
  mentioned_.push_back(std::move(what));
}
void DnnSlots::objects(std::vector<DnnRecordPointer> what) {
  add(DnnSlotKind::objects, 0, static_cast<uint32_t>(what.size() * 8));
  for (auto& one : what) {
    append(bytes_, uint64_t{mentioned_.size()});
    mentioned_.push_back(std::move(one));
  }
}
void DnnSlots::scalar(const void* at, uint32_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  add(DnnSlotKind::scalar, value, bytes);
}
void DnnSlots::array(const void* at, uint64_t bytes) {
  add(DnnSlotKind::array, 0, static_cast<uint32_t>(bytes));
  add_bytes(at, bytes);
}
void DnnSlots::result(uint64_t bytes) { add(DnnSlotKind::result, 0, static_cast<uint32_t>(bytes)); }

int64_t number_at(const DnnSlots& slots, size_t at) {
  int64_t found = 0;
  size_t seen = 0;
  each_slot(slots.bytes(), [&](const DnnSlot& slot, size_t, size_t) {
    if (seen++ == at) found = static_cast<int64_t>(slot.value);
  });
  return found;
}
std::span<const std::byte> array_at(const DnnSlots& slots, size_t at) {
  std::span<const std::byte> found;
  size_t seen = 0;
  each_slot(slots.bytes(), [&](const DnnSlot& slot, size_t, size_t rest) {
    if (seen++ == at && slot.kind == static_cast<uint32_t>(DnnSlotKind::array))
      found = slots.bytes().subspan(rest, slot.bytes);
  });
  return found;
}

const DnnSlots* DnnRecord::find(uint32_t function, int64_t part) const {
  for (const Call& call : calls)
    if (call.function == function && (part < 0 || number_at(call.slots, 0) == part)) return &call.slots;
  return nullptr;
}

void DnnRecord::repeat(uint32_t function, DnnSlots slots, int64_t part) {
  std::erase_if(calls, [&](const Call& call) {
    return call.function == function && (part < 0 || number_at(call.slots, 0) == part);
  });
  calls.push_back({function, std::move(slots)});
}

void DnnPayload::add(const DnnRecordPointer& record) {
  if (places_.contains(record.get())) return;
  for (const auto& call : record->calls)
    for (const auto& one : call.slots.mentioned()) add(one);
  places_.emplace(record.get(), places_.size());
  append(bytes_,
         ops::DnnObject{static_cast<uint32_t>(record->kind), static_cast<uint32_t>(record->calls.size())});
  for (const auto& call : record->calls) add_call(call.function, call.slots);
}

void DnnPayload::add_call(uint32_t function, const DnnSlots& slots) {
  std::vector<uint64_t> places;
  for (const auto& one : slots.mentioned()) {
    add(one);
    places.push_back(places_.at(one.get()));
  }
  call_ = bytes_.size();
  append(bytes_, ops::DnnInvocation{function, slots.count()});
  const size_t begin = bytes_.size();
  bytes_.insert(bytes_.end(), slots.bytes().begin(), slots.bytes().end());
  set_places(std::span(bytes_).subspan(begin), places);
}

uint64_t DnnPayload::question() const {
  std::vector<std::byte> same = bytes_;
  const auto call = std::span(same).subspan(call_ + sizeof(ops::DnnInvocation));
  each_slot(call, [&](const DnnSlot& slot, size_t at, size_t) {
    if (slot.kind == static_cast<uint32_t>(DnnSlotKind::address)) set_word(call, at, 0);
  });
  return XXH3_64bits(same.data(), same.size());
}

}  // namespace jitc::api

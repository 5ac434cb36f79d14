// See call_record.h.
#include "call_record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace jitc::api {
namespace {

using ops::SlotKind;

/// Calls see(slot, bytes before its data) for each slot of the call. The bytes are trusted: CallSlots wrote
/// them.
template <class See>
void each_slot(std::span<const std::byte> call, See&& see) {
  PackedReader reader(call.subspan(sizeof(ops::CallHead)));
  for (SlotView slot; !reader.rest().empty() && take_slot(reader, &slot);)
    see(slot, static_cast<size_t>(slot.data.data() - call.data()));
}

bool is_call(const CallSlots& call, uint32_t function, int64_t part) {
  return call.function() == function && (part < 0 || slot_at(call, 0).number() == part);
}

void set_word(std::span<std::byte> bytes, size_t at, uint64_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof word);
}

}  // namespace

void CallSlots::object(ObjectPointer what) {
  CallWriter::object(mentioned_.size());
  mentioned_.push_back(std::move(what));
}
void CallSlots::objects(std::vector<ObjectPointer> what) {
  std::vector<uint64_t> places;
  for (auto& one : what) {
    places.push_back(mentioned_.size());
    mentioned_.push_back(std::move(one));
  }
  CallWriter::objects(places);
}

void CallSlots::name(uint32_t function) { std::memcpy(bytes_.data(), &function, sizeof function); }
uint32_t CallSlots::function() const {
  uint32_t function;
  std::memcpy(&function, bytes_.data(), sizeof function);
  return function;
}

SlotView slot_at(const CallSlots& slots, size_t at) {
  SlotView found{};
  size_t seen = 0;
  each_slot(slots.bytes(), [&](const SlotView& slot, size_t) {
    if (seen++ == at) found = slot;
  });
  return found;
}

std::span<const std::byte> array_at(const CallSlots& slots, size_t at) {
  const SlotView found = slot_at(slots, at);
  return found.is(SlotKind::array) ? found.data : std::span<const std::byte>{};
}

const CallSlots* ObjectRecord::find(uint32_t function, int64_t part) const {
  const auto found = std::find_if(calls.begin(), calls.end(),
                                  [&](const auto& call) { return is_call(call, function, part); });
  return found == calls.end() ? nullptr : &*found;
}

void ObjectRecord::repeat(uint32_t function, CallSlots slots, int64_t part) {
  std::erase_if(calls, [&](const auto& call) { return is_call(call, function, part); });
  slots.name(function);
  calls.push_back(std::move(slots));
}

void CallPayload::add(const ObjectPointer& record) {
  if (places_.contains(record.get())) return;
  for (const auto& call : record->calls)
    for (const auto& one : call.mentioned()) add(one);
  places_.emplace(record.get(), places_.size());
  const ops::ObjectHead head{static_cast<uint32_t>(record->kind),
                             static_cast<uint32_t>(record->calls.size())};
  const auto* const from = reinterpret_cast<const std::byte*>(&head);
  bytes_.insert(bytes_.end(), from, from + sizeof head);
  for (const auto& call : record->calls) add_call(call.function(), call);
}

/// Adds the call; its objects become indices among the payload's.
void CallPayload::add_call(uint32_t function, const CallSlots& slots) {
  for (const auto& one : slots.mentioned()) add(one);
  call_ = bytes_.size();
  bytes_.insert(bytes_.end(), slots.bytes().begin(), slots.bytes().end());
  const auto call = std::span(bytes_).subspan(call_);
  std::memcpy(call.data(), &function, sizeof function);
  each_slot(slots.bytes(), [&](const SlotView& slot, size_t at) {
    slot.each_place([&](uint64_t place) {
      set_word(call, std::exchange(at, at + sizeof place), places_.at(slots.mentioned()[place].get()));
    });
  });
}

uint64_t CallPayload::question() const {
  std::vector<std::byte> same = bytes_;
  const auto call = std::span(same).subspan(call_);
  each_slot(call, [&](const SlotView& slot, size_t at) {
    if (slot.is(SlotKind::address)) set_word(call, at, 0);
  });
  return XXH3_64bits(same.data(), same.size());
}

}  // namespace jitc::api

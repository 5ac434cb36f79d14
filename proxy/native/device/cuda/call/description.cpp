// See description.h. Descriptions come from a client: nothing in them is trusted.
#include "description.h"

#include <algorithm>
#include <string>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {

constexpr uint32_t kKinds = static_cast<uint32_t>(ops::ObjectKind::lt_preference) + 1;

[[noreturn]] void refuse_description(const char* why) {
  refuse_value(std::string("the description of a call ") + why);
}

template <class Record>
Record take(PackedReader& reader) {
  Record out;
  if (!reader.take(&out)) refuse_description("is truncated");
  return out;
}

SlotView read_slot(PackedReader& reader, uint64_t before) {
  SlotView view;
  if (!take_slot(reader, &view)) refuse_description("is truncated");
  if (view.slot.kind >= kSlotKinds) refuse_description("has an unknown kind of argument");
  view.each_place([&](uint64_t place) {
    if (place >= before) refuse_description("mentions what does not come before");
  });
  return view;
}

Invocation read_call(PackedReader& reader, uint64_t before) {
  const auto head = take<ops::CallHead>(reader);
  Invocation call{head.function, {}};
  call.slots.reserve(std::min<size_t>(head.slots, reader.rest().size() / sizeof(ops::CallSlot)));
  for (uint32_t i = 0; i < head.slots; ++i) call.slots.push_back(read_slot(reader, before));
  return call;
}

void require_end(const PackedReader& reader) {
  if (!reader.rest().empty()) refuse_description("is too long");
}

}  // namespace

Description::Description(std::span<const std::byte> bytes, uint64_t objects, bool with_call) {
  PackedReader reader(bytes);
  for (uint64_t place = 0; place < objects; ++place) {
    const auto head = take<ops::ObjectHead>(reader);
    if (head.kind >= kKinds) refuse_description("has an unknown kind of object");
    ObjectView object{static_cast<ops::ObjectKind>(head.kind), {}};
    for (uint32_t i = 0; i < head.calls; ++i) object.calls.push_back(read_call(reader, place));
    objects_.push_back(std::move(object));
  }
  if (with_call) call_ = read_call(reader, objects);
  require_end(reader);
}

Invocation read_call(std::span<const std::byte> bytes, uint64_t before) {
  PackedReader reader(bytes);
  Invocation call = read_call(reader, before);
  require_end(reader);
  return call;
}

void check_count(const char* function, const Invocation& call, size_t slots) {
  if (call.slots.size() != slots) refuse_value(std::string(function) + ": an unexpected number of arguments");
}

uint64_t value_of(const char* function, const Invocation& call, size_t at, ops::SlotKind kind) {
  if (!call.slots[at].is(kind)) refuse_value(std::string(function) + ": an argument is of another kind");
  return call.slots[at].slot.value;
}

}  // namespace jitc::cuda

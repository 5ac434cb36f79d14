// See dnn_description.h. Descriptions come from a client: nothing in them is trusted.
#include "dnn_description.h"

#include <string>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {

constexpr uint32_t kKinds = static_cast<uint32_t>(ops::DnnKind::transformer) + 1;
constexpr uint32_t kSlotKinds = static_cast<uint32_t>(ops::DnnSlotKind::result) + 1;

[[noreturn]] void refuse_description(const char* why) {
  refuse_value(std::string("the description of a cuDNN call ") + why);
}

uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

}  // namespace

std::vector<uint64_t> DnnSlotView::places() const {
  if (is(ops::DnnSlotKind::object)) return {slot.value};
  if (!is(ops::DnnSlotKind::objects)) return {};
  std::vector<uint64_t> out(data.size() / sizeof(uint64_t));
  if (!out.empty()) std::memcpy(out.data(), data.data(), out.size() * sizeof(uint64_t));
  return out;
}

template <class Record>
Record DnnDescription::take() {
  Record out;
  if (rest_.size() < sizeof out) refuse_description("is truncated");
  std::memcpy(&out, rest_.data(), sizeof out);
  rest_ = rest_.subspan(sizeof out);
  return out;
}

DnnSlotView DnnDescription::take_slot(uint64_t before) {
  const void* const at = rest_.data();
  DnnSlotView view{take<ops::DnnSlot>(), at, {}};
  if (view.slot.kind >= kSlotKinds) refuse_description("has an unknown kind of argument");
  if (view.is(ops::DnnSlotKind::array) || view.is(ops::DnnSlotKind::objects)) {
    if (padded(view.slot.bytes) > rest_.size()) refuse_description("is truncated");
    view.data = rest_.first(view.slot.bytes);
    rest_ = rest_.subspan(padded(view.slot.bytes));
  }
  for (const uint64_t place : view.places())
    if (place >= before) refuse_description("mentions what does not come before");
  return view;
}

DnnInvocation DnnDescription::take_call(uint64_t before) {
  const auto head = take<ops::DnnInvocation>();
  DnnInvocation call{head.function, {}};
  for (uint32_t i = 0; i < head.slots; ++i) call.slots.push_back(take_slot(before));
  return call;
}

DnnDescription::DnnDescription(std::span<const std::byte> bytes, uint64_t objects, bool with_call)
    : rest_(bytes) {
  for (uint64_t place = 0; place < objects; ++place) {
    const auto head = take<ops::DnnObject>();
    if (head.kind >= kKinds) refuse_description("has an unknown kind of descriptor");
    DnnObjectView object{static_cast<ops::DnnKind>(head.kind), {}};
    for (uint32_t i = 0; i < head.calls; ++i) object.calls.push_back(take_call(place));
    objects_.push_back(std::move(object));
  }
  if (with_call) call_ = take_call(objects);
  if (!rest_.empty()) refuse_description("is too long");
}

}  // namespace jitc::cuda

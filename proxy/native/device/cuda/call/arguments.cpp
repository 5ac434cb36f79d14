// See arguments.h. Slots come from a client: nothing in them is trusted.
#include "arguments.h"

#include <algorithm>
#include <string>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {

using Role = SlotRole;
using ops::SlotKind;
constexpr uint64_t kMostResult = 1 << 20;

size_t units(uint32_t bytes) { return (size_t{bytes} + kWidestScalar - 1) / kWidestScalar; }

/// Check of one call's slots.
class Check {
 public:
  Check(const CallFunction& function, const Invocation& call, CallObjects objects)
      : function_(function), call_(call), objects_(objects) {}

  void slot(size_t at) {
    const SlotRule& rule = function_.signature.rules[at];
    const SlotView& view = call_.slots[at];
    switch (rule.role) {
      case Role::number:
        return number(at, rule);
      case Role::real:
        return is(at, SlotKind::real, "is no number");
      case Role::output:
        agree(at, PointerMode::device);
        [[fallthrough]];
      case Role::address:
        return optional(at, SlotKind::address, "is no address");
      case Role::scalar:
        scalar(at, rule.bytes);
        return agree(at, view.is(SlotKind::scalar) ? PointerMode::host : PointerMode::device);
      case Role::value_or_address:
        return scalar(at, 0);
      case Role::value:
        if (view.data.size() > sizeof view.slot.value) refuse(at, "is no scalar");
        return optional(at, SlotKind::scalar, "is no scalar");
      case Role::block:
        if (!view.is(SlotKind::null)) array(at, rule.bytes, 1);
        return;
      case Role::needed:
        is(at, SlotKind::object, "is no descriptor");
        [[fallthrough]];
      case Role::object:
        optional(at, SlotKind::object, "is no descriptor");
        if (view.is(SlotKind::object) && object(at).kind != rule.kind)
          refuse(at, "is a descriptor of another kind");
        return;
      case Role::array:
        return array(at, count(rule.other));
      case Role::size_of:
        return array(at, second_extent(rule.other));
      case Role::sum_of:
        return array(at, sum(rule.other));
      case Role::result:
        return wanted(at, rule.bytes);
      case Role::results:
        return wanted(at, static_cast<uint64_t>(std::max<int64_t>(count(rule.other), 0)) * rule.bytes);
    }
  }
  PointerMode mode() const { return mode_; }

 private:
  [[noreturn]] void refuse(size_t at, const char* why) const {
    refuse_value(std::string(function_.name) + ": argument " + std::to_string(at + 1) + " " + why);
  }
  /// Requires all scalars and results of one call on the host, or all on the device.
  void agree(size_t at, PointerMode found) {
    if (mode_ != PointerMode::any && mode_ != found) refuse(at, "mixes pointer modes");
    mode_ = found;
  }
  void is(size_t at, SlotKind kind, const char* otherwise) const {
    if (!call_.slots[at].is(kind)) refuse(at, otherwise);
  }
  void optional(size_t at, SlotKind kind, const char* otherwise) const {
    if (!call_.slots[at].is(SlotKind::null)) is(at, kind, otherwise);
  }
  /// Checks a scalar by value or by address. bytes 0: other arguments give the size.
  void scalar(size_t at, uint32_t bytes) const {
    const SlotView& view = call_.slots[at];
    if (view.is(SlotKind::address) || view.is(SlotKind::null)) return;
    const uint32_t there = view.slot.bytes;
    const bool good = bytes ? there == bytes : there >= 1 && there <= kWidestScalar;
    if (!view.is(SlotKind::scalar) || !good) refuse(at, "is no scalar of the function's type");
  }
  const CallObject& object(size_t at) const { return objects_[call_.slots[at].slot.value]; }
  int64_t count(size_t at) const {
    is(at, SlotKind::number, "is no number");
    return call_.slots[at].number();
  }
  void number(size_t at, const SlotRule& rule) const {
    const int64_t value = count(at);
    const bool fits =
        rule.is_signed ? value == static_cast<int32_t>(value) : value == static_cast<uint32_t>(value);
    if (rule.bytes == 4 && !fits) refuse(at, "does not fit in 32 bits");
  }
  void array(size_t at, int64_t elements, uint64_t each = sizeof(int32_t)) const {
    is(at, SlotKind::array, "is no array");
    if (elements < 0 || call_.slots[at].data.size() != static_cast<uint64_t>(elements) * each)
      refuse(at, "is an array of another size");
  }
  int64_t second_extent(size_t tensor) const {
    is(tensor, SlotKind::object, "is no descriptor");
    const auto sizes = object(tensor).sizes;
    return sizes.size() > 1 ? sizes[1] : 0;
  }
  int64_t sum(size_t at) const {
    is(at, SlotKind::array, "is no array");
    int64_t total = 0;
    PackedReader lengths(call_.slots[at].data);
    for (int32_t one = 0; lengths.take(&one); total += one)
      if (one < 0) return -1;
    return total;
  }
  void wanted(size_t at, uint64_t bytes) const {
    is(at, SlotKind::result, "is no result");
    if (call_.slots[at].slot.bytes != bytes || bytes > kMostResult) refuse(at, "is a result of another size");
  }

  const CallFunction& function_;
  const Invocation& call_;
  const CallObjects objects_;
  PointerMode mode_ = PointerMode::any;
};

}  // namespace

CallArguments::CallArguments(void* first, void* handle, void* stream, const Invocation& call,
                             CallObjects objects)
    : first_(first), handle_(handle), stream_(stream), call_(call) {
  size_t wanted = 0;
  for (const SlotView& slot : call.slots)
    if (slot.is(SlotKind::result)) wanted += units(slot.slot.bytes);
  results_.resize(wanted);
  for (size_t at = 0; at < call.slots.size(); ++at) words_.at(at) = word_of(call.slots[at], objects);
}

uint64_t CallArguments::word_of(const SlotView& slot, CallObjects objects) {
  if (slot.is(SlotKind::object)) return reinterpret_cast<uint64_t>(objects[slot.slot.value].real);
  if (slot.is(SlotKind::array)) return reinterpret_cast<uint64_t>(slot.data.data());
  if (slot.is(SlotKind::result))
    return reinterpret_cast<uint64_t>(results_.data() +
                                      std::exchange(results_used_, results_used_ + units(slot.slot.bytes)));
  if (slot.is(SlotKind::null)) return 0;  // its value is ignored
  if (!slot.is(SlotKind::scalar)) return slot.slot.value;
  Own& own = scalars_.at(scalars_used_++);
  own = {};
  std::memcpy(own.bytes.data(), slot.data.data(), std::min(slot.data.size(), own.bytes.size()));
  return reinterpret_cast<uint64_t>(own.bytes.data());
}

double CallArguments::real(size_t at) const {
  double out;
  std::memcpy(&out, &words_[at], sizeof out);
  return out;
}

std::vector<std::byte> CallArguments::results() const {
  std::vector<std::byte> out;
  size_t at = 0;
  for (const SlotView& slot : call_.slots) {
    if (!slot.is(SlotKind::result)) continue;
    const auto one = std::as_bytes(std::span(results_).subspan(at)).first(slot.slot.bytes);
    out.insert(out.end(), one.begin(), one.end());
    at += units(slot.slot.bytes);
  }
  return out;
}

PointerMode check_slots(const CallFunction& function, const Invocation& call, CallObjects objects) {
  if (call.slots.size() != function.signature.rules.size())
    refuse_value(std::string(function.name) + ": " + std::to_string(call.slots.size()) +
                 " arguments instead of " + std::to_string(function.signature.rules.size()));
  Check check(function, call, objects);
  for (size_t at = 0; at < call.slots.size(); ++at) check.slot(at);
  return check.mode();
}

}  // namespace jitc::cuda

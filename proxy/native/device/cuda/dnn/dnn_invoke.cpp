// See dnn_invoke.h. Slots come from a client: nothing in them is trusted.
#include "dnn_invoke.h"

#include <algorithm>
#include <string>

#include "device/cuda/driver/error.h"
#include "dnn_objects.h"

namespace jitc::cuda {
namespace {

using Role = DnnRule::Role;
using ops::DnnSlotKind;
constexpr uint64_t kMostResult = 1 << 20, kAlignment = 16;

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

[[noreturn]] void refuse_slot(const DnnFunction& function, size_t at, const char* why) {
  refuse_value(std::string(function.name) + ": argument " + std::to_string(at + 1) + " " + why);
}

/// Checks the slots of one call.
class Check {
 public:
  Check(const DnnFunction& function, const DnnInvocation& call, DnnArguments::Objects objects)
      : function_(function), call_(call), objects_(objects) {}

  void slot(size_t at) {
    const DnnRule& rule = function_.rules[at];
    const DnnSlotView& view = call_.slots[at];
    switch (rule.role) {
      case Role::number:
        return number(at, rule.bytes);
      case Role::real:
        return is(at, DnnSlotKind::real, "is no number");
      case Role::address:
        return optional(at, DnnSlotKind::address, "is no address");
      case Role::scalar:
        return optional(at, DnnSlotKind::scalar, "is no scalar");
      case Role::object:
        optional(at, DnnSlotKind::object, "is no descriptor");
        if (view.is(DnnSlotKind::object) && object(at).kind() != rule.kind)
          refuse_slot(function_, at, "is a descriptor of another kind");
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
        return wanted(at, static_cast<uint64_t>(std::max<int64_t>(count(rule.other), 0)) * rule.factor);
    }
  }

 private:
  void is(size_t at, DnnSlotKind kind, const char* otherwise) const {
    if (!call_.slots[at].is(kind)) refuse_slot(function_, at, otherwise);
  }
  void optional(size_t at, DnnSlotKind kind, const char* otherwise) const {
    if (!call_.slots[at].is(DnnSlotKind::null)) is(at, kind, otherwise);
  }
  const DnnObject& object(size_t at) const { return *objects_[call_.slots[at].slot.value]; }
  int64_t count(size_t at) const {
    is(at, DnnSlotKind::number, "is no number");
    return static_cast<int64_t>(call_.slots[at].slot.value);
  }
  void number(size_t at, uint8_t bytes) const {
    const int64_t value = count(at);
    if (bytes == 4 && value != static_cast<int32_t>(value) && value != static_cast<uint32_t>(value))
      refuse_slot(function_, at, "does not fit in 32 bits");
  }
  void array(size_t at, int64_t elements) const {
    is(at, DnnSlotKind::array, "is no array");
    if (elements < 0 || call_.slots[at].data.size() != static_cast<uint64_t>(elements) * sizeof(int32_t))
      refuse_slot(function_, at, "is an array of another size");
  }
  int64_t second_extent(size_t tensor) const {
    is(tensor, DnnSlotKind::object, "is no descriptor");
    const auto& sizes = object(tensor).sizes();
    return sizes.size() > 1 ? sizes[1] : 0;
  }
  int64_t sum(size_t at) const {
    is(at, DnnSlotKind::array, "is no array");
    int64_t total = 0;
    for (size_t one = 0; one + sizeof(int32_t) <= call_.slots[at].data.size(); one += sizeof(int32_t)) {
      int32_t value;
      std::memcpy(&value, call_.slots[at].data.data() + one, sizeof value);
      if (value < 0) return -1;
      total += value;
    }
    return total;
  }
  void wanted(size_t at, uint64_t bytes) const {
    is(at, DnnSlotKind::result, "is no result");
    if (call_.slots[at].slot.bytes != bytes || bytes > kMostResult)
      refuse_slot(function_, at, "is a result of another size");
  }

  const DnnFunction& function_;
  const DnnInvocation& call_;
  const DnnArguments::Objects objects_;
};

}  // namespace

DnnArguments::DnnArguments(void* handle, void* self, const DnnInvocation& call, Objects objects)
    : handle_(handle), self_(self), call_(call) {
  size_t wanted = 0;
  for (const DnnSlotView& view : call.slots)
    if (view.is(DnnSlotKind::result)) wanted += aligned(view.slot.bytes);
  results_.resize(wanted);
  wanted = 0;
  for (const DnnSlotView& view : call.slots) {
    void* pointer = nullptr;
    if (view.is(DnnSlotKind::result)) {
      pointer = results_.data() + wanted;
      wanted += aligned(view.slot.bytes);
    } else if (view.is(DnnSlotKind::object)) {
      pointer = objects[view.slot.value]->real();
    } else if (view.is(DnnSlotKind::scalar)) {
      pointer = const_cast<void*>(view.inlined);
    } else if (view.is(DnnSlotKind::array)) {
      pointer = const_cast<std::byte*>(view.data.data());
    }
    pointers_.push_back(pointer);
  }
}

std::vector<std::byte> DnnArguments::results() const {
  std::vector<std::byte> out;
  size_t at = 0;
  for (const DnnSlotView& view : call_.slots) {
    if (!view.is(DnnSlotKind::result)) continue;
    const auto one = std::span(results_).subspan(at, view.slot.bytes);
    out.insert(out.end(), one.begin(), one.end());
    at += aligned(view.slot.bytes);
  }
  return out;
}

namespace {

const DnnFunction& find_dnn_function(uint32_t id, ops::DnnKind changes) {
  const auto* const end = kDnnFunctions + kDnnFunctionCount;
  const auto* const found = std::lower_bound(
      kDnnFunctions, end, id, [](const DnnFunction& one, uint32_t wanted) { return one.id < wanted; });
  if (found == end || found->id != id || found->changes != changes)
    refuse(kNotSupported, "unknown-function", "this worker knows no such cuDNN function " + hex(id));
  return *found;
}

void check_slots(const DnnFunction& function, const DnnInvocation& call, DnnArguments::Objects objects) {
  if (call.slots.size() != function.rules.size())
    refuse_value(std::string(function.name) + ": " + std::to_string(call.slots.size()) +
                 " arguments instead of " + std::to_string(function.rules.size()));
  Check check(function, call, objects);
  for (size_t at = 0; at < call.slots.size(); ++at) check.slot(at);
}

}  // namespace

std::vector<std::byte> invoke_function(const Cudnn& library, const DnnInvocation& call, ops::DnnKind changes,
                                       void* handle, void* self, DnnArguments::Objects objects) {
  const DnnFunction& function = find_dnn_function(call.function, changes);
  check_slots(function, call, objects);
  void* const entry = library.function(static_cast<size_t>(&function - kDnnFunctions));
  if (!entry) refuse(kNotSupported, "no-library", std::string("libcudnn has no function ") + function.name);
  const DnnArguments arguments(handle, self, call, objects);
  check_dnn(library, function.name, function.invoke(entry, arguments));
  return arguments.results();
}

}  // namespace jitc::cuda

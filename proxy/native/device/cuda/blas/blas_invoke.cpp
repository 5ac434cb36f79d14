// See blas_invoke.h. Slots come from a client: nothing in them is trusted.
#include "blas_invoke.h"

#include <algorithm>
#include <limits>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {

[[noreturn]] void refuse_slot(const BlasFunction& function, uint32_t at, const char* why) {
  refuse_value(std::string(function.name) + ": argument " + std::to_string(at + 1) + " " + why);
}

bool fits_32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
}

/// Scalars and results of one call are all on the host or all on the device.
void agree(PointerMode& mode, PointerMode found, const BlasFunction& function, uint32_t at) {
  if (mode != PointerMode::any && mode != found) refuse_slot(function, at, "mixes pointer modes");
  mode = found;
}

void check_scalar(const BlasFunction& function, const ops::BlasSlot& slot, uint8_t bytes, uint32_t at,
                  PointerMode& mode) {
  if (slot.kind == static_cast<uint32_t>(ops::BlasSlotKind::address)) {
    if (slot.bytes != 8) refuse_slot(function, at, "is no address");
    return agree(mode, PointerMode::device, function, at);
  }
  const bool good = bytes ? slot.bytes == bytes : slot.bytes >= 1 && slot.bytes <= slot.value.size();
  if (slot.kind != static_cast<uint32_t>(ops::BlasSlotKind::scalar) || !good)
    refuse_slot(function, at, "is no scalar of the function's type");
  agree(mode, PointerMode::host, function, at);
}

}  // namespace

const BlasFunction* find_blas_function(uint32_t id) {
  const auto* const end = kBlasFunctions + kBlasFunctionCount;
  const auto* const found = std::lower_bound(
      kBlasFunctions, end, id, [](const BlasFunction& one, uint32_t wanted) { return one.id < wanted; });
  return found != end && found->id == id ? found : nullptr;
}

PointerMode check_slots(const BlasFunction& function, const ops::BlasSlot* slots, uint32_t count) {
  PointerMode mode = PointerMode::any;
  if (count != function.signature.slots)
    refuse_value(std::string(function.name) + ": " + std::to_string(count) + " arguments instead of " +
                 std::to_string(function.signature.slots));
  for (uint32_t at = 0; at < count; ++at) {
    const SlotRule rule = function.signature.rules[at];
    const ops::BlasSlot& slot = slots[at];
    if (rule.role == SlotRole::scalar) {
      check_scalar(function, slot, rule.bytes, at, mode);
      continue;
    }
    const bool number = rule.role == SlotRole::number32 || rule.role == SlotRole::number64;
    const auto kind = number ? ops::BlasSlotKind::number : ops::BlasSlotKind::address;
    if (slot.kind != static_cast<uint32_t>(kind) || slot.bytes != 8)
      refuse_slot(function, at, number ? "is no number" : "is no address");
    if (rule.role == SlotRole::number32 && !fits_32(slot_value<int64_t>(slot)))
      refuse_slot(function, at, "does not fit in 32 bits");
    if (rule.role == SlotRole::result) agree(mode, PointerMode::device, function, at);
  }
  return mode;
}

}  // namespace jitc::cuda

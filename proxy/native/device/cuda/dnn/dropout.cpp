// See dropout.h.
#include "dropout.h"

#include <cstring>

namespace jitc::cuda {
namespace {
enum Slot : size_t { kRate, kStates, kBytes, kSeed, kSlots };
}  // namespace

bool without_dropout(const Invocation& call) {
  return call.function == ops::kDnnRestoreDropoutDescriptor && call.slots.size() == kSlots &&
         call.slots[kStates].is(ops::SlotKind::null);
}

void set_dropout(const Cudnn& library, void* descriptor, void* handle, const Invocation& call) {
  using ops::SlotKind;
  constexpr const char* kName = "cudnnSetDropoutDescriptor";
  check_count(kName, call, kSlots);
  double rate = 0;
  const uint64_t bits = value_of(kName, call, kRate, SlotKind::real);
  std::memcpy(&rate, &bits, sizeof rate);
  const bool none = call.slots[kStates].is(SlotKind::null);
  const uint64_t states = none ? 0 : value_of(kName, call, kStates, SlotKind::address);
  check_dnn(library, kName,
            library.cudnnSetDropoutDescriptor(descriptor, handle, static_cast<float>(rate),
                                              reinterpret_cast<void*>(states),
                                              value_of(kName, call, kBytes, SlotKind::number),
                                              value_of(kName, call, kSeed, SlotKind::number)));
}

}  // namespace jitc::cuda

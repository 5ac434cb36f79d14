// How a cuBLAS function is called from slots: its arguments as template arguments, one per argument of the
// function after the handle.
//
// Used by generated_blas_worker.cpp, which has the table of all functions, and by blas_call.cpp, which checks
// the slots against a signature before it invokes. Promise: invoke reads exactly the slots of the signature;
// scalars are passed at addresses of our own, 16 bytes each, whatever the slot says.
#pragma once
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "jitc/generated_ops.h"

namespace jitc::cuda {

/// What a slot must hold.
enum class SlotRole : uint8_t { number32, number64, address, scalar, result };
struct SlotRule {
  SlotRole role;
  uint8_t bytes;  // of a scalar; 0: told by other arguments, at most 16
};

/// What one call keeps while the library runs.
struct CallMemory {
  static constexpr size_t kScalars = 2;
  struct alignas(16) Scalar {
    std::array<uint8_t, 16> bytes;
  };
  std::array<Scalar, kScalars> scalars;
  size_t used = 0;
  int32_t info = 0;  // written by functions that check their arguments on the host
};

class SlotCursor {
 public:
  SlotCursor(const ops::BlasSlot* slots, CallMemory& memory) : next_(slots), memory_(memory) {}
  const ops::BlasSlot& next() { return *next_++; }
  CallMemory& memory() { return memory_; }

 private:
  const ops::BlasSlot* next_;
  CallMemory& memory_;
};

template <class T>
T slot_value(const ops::BlasSlot& slot) {
  T value;
  std::memcpy(&value, slot.value.data(), sizeof value);
  return value;
}
inline void* slot_address(const ops::BlasSlot& slot) {
  return reinterpret_cast<void*>(slot_value<uint64_t>(slot));
}

// The arguments. kRule: what the slot must be; Type: of the C parameter; take: its value.

template <class T>
struct Number {
  static constexpr SlotRule kRule{sizeof(T) == 4 ? SlotRole::number32 : SlotRole::number64, 8};
  static constexpr bool kSlot = true, kScalar = false;
  using Type = T;
  static T take(SlotCursor& cursor) { return static_cast<T>(slot_value<int64_t>(cursor.next())); }
};

struct Address {
  static constexpr SlotRule kRule{SlotRole::address, 8};
  static constexpr bool kSlot = true, kScalar = false;
  using Type = void*;
  static void* take(SlotCursor& cursor) { return slot_address(cursor.next()); }
};

/// Where the function writes a value: device memory always.
struct Result : Address {
  static constexpr SlotRule kRule{SlotRole::result, 8};
};

template <uint8_t kBytes>
struct Scalar {
  static constexpr SlotRule kRule{SlotRole::scalar, kBytes};
  static constexpr bool kSlot = true, kScalar = true;
  using Type = const void*;
  static const void* take(SlotCursor& cursor) {
    const ops::BlasSlot& slot = cursor.next();
    if (slot.kind == static_cast<uint32_t>(ops::BlasSlotKind::address)) return slot_address(slot);
    CallMemory& memory = cursor.memory();
    auto& own = memory.scalars.at(memory.used++);
    own.bytes = slot.value;
    return own.bytes.data();
  }
};

struct Info {
  static constexpr SlotRule kRule{};
  static constexpr bool kSlot = false, kScalar = false;
  using Type = int32_t*;
  static int32_t* take(SlotCursor& cursor) { return &cursor.memory().info; }
};

using BlasInvoke = int32_t (*)(void* function, void* handle, const ops::BlasSlot* slots, CallMemory& memory);

struct BlasSignature {
  const SlotRule* rules;
  uint32_t slots;
  BlasInvoke invoke;
};

template <class... Arguments>
struct BlasCaller {
  static constexpr uint32_t kSlots = (0u + ... + uint32_t{Arguments::kSlot});
  static_assert((0u + ... + uint32_t{Arguments::kScalar}) <= CallMemory::kScalars);
  static constexpr std::array<SlotRule, kSlots> kRules = [] {
    std::array<SlotRule, kSlots> rules{};
    size_t at = 0;
    ((Arguments::kSlot ? void(rules[at++] = Arguments::kRule) : void()), ...);
    return rules;
  }();

  static int32_t invoke(void* function, void* handle, const ops::BlasSlot* slots, CallMemory& memory) {
    SlotCursor cursor(slots, memory);
    // Braces: from left to right, as the slots come.
    const std::tuple<typename Arguments::Type...> arguments{Arguments::take(cursor)...};
    const auto call = reinterpret_cast<int32_t (*)(void*, typename Arguments::Type...)>(function);
    return std::apply([&](auto... argument) { return call(handle, argument...); }, arguments);
  }
};

template <class... Arguments>
constexpr BlasSignature signature() {
  using Caller = BlasCaller<Arguments...>;
  return {Caller::kRules.data(), Caller::kSlots, &Caller::invoke};
}

struct BlasFunction {
  uint32_t id;
  const char* name;
  BlasSignature signature;
};

/// generated_blas_worker.cpp, by id.
extern const BlasFunction kBlasFunctions[];
extern const uint32_t kBlasFunctionCount;
/// nullptr: this worker does not know the function.
const BlasFunction* find_blas_function(uint32_t id);

/// Where the scalars and results of a call are; any: it has none.
enum class PointerMode : int32_t { any = -1, host = 0, device = 1 };
/// Throws OpError unless the slots are what the signature asks for.
PointerMode check_slots(const BlasFunction& function, const ops::BlasSlot* slots, uint32_t count);

}  // namespace jitc::cuda

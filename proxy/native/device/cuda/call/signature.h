// Calls a function of a library from slots: its arguments as template arguments, one per argument of the
// function after the first, which is a handle or the object that it changes.
//
// Used by the generated tables of blas/ and dnn/. Promise: invoke takes exactly the slots of the signature,
// from left to right, as check_slots has checked them.
#pragma once
#include <algorithm>
#include <tuple>
#include <type_traits>

#include "arguments.h"

namespace jitc::cuda {

template <SlotRule kGiven, class Taken>
struct Slot {
  static constexpr uint32_t kSlots = 1;
  static constexpr SlotRule kRule = kGiven;
  using Type = Taken;
  static Type take(CallArguments& from, size_t& at) { return from.pointer<Type>(at++); }
};

template <class T>
struct Number : Slot<SlotRule{SlotRole::number, sizeof(T), {}, 0, std::is_signed_v<T>}, T> {
  static T take(CallArguments& from, size_t& at) { return static_cast<T>(from.word(at++)); }
};
template <class T>
struct Real : Slot<SlotRule{SlotRole::real}, T> {
  static T take(CallArguments& from, size_t& at) { return static_cast<T>(from.real(at++)); }
};
/// Address on the device.
using Address = Slot<SlotRule{SlotRole::address}, void*>;
/// Address where the function writes a value: always device memory.
using Output = Slot<SlotRule{SlotRole::output}, void*>;
/// Value that the function reads on the host or on the device, by pointer mode. kBytes 0: other arguments
/// give the size.
template <uint8_t kBytes>
using Scalar = Slot<SlotRule{SlotRole::scalar, kBytes}, const void*>;
/// Same, for a function whose own objects give the pointer mode.
using ValueOrAddress = Slot<SlotRule{SlotRole::value_or_address}, const void*>;
/// Value read on the host, at most 8 bytes, or null.
using Value = Slot<SlotRule{SlotRole::value}, const void*>;
/// Block of so many bytes, or null.
template <uint8_t kBytes>
using Block = Slot<SlotRule{SlotRole::block, kBytes}, const void*>;
template <ops::ObjectKind kKind>
using Object = Slot<SlotRule{SlotRole::object, 8, kKind}, void*>;
/// Object that is never null.
template <ops::ObjectKind kKind>
using Needed = Slot<SlotRule{SlotRole::needed, 8, kKind}, void*>;
/// Array of 32-bit numbers: as many as another slot says; as a tensor's second extent; as all of another
/// array together.
template <uint8_t kCount>
using Array = Slot<SlotRule{SlotRole::array, 4, {}, kCount}, const int32_t*>;
template <uint8_t kTensor>
using SizeOf = Slot<SlotRule{SlotRole::size_of, 4, {}, kTensor}, const int32_t*>;
template <uint8_t kLengths>
using SumOf = Slot<SlotRule{SlotRole::sum_of, 4, {}, kLengths}, const int32_t*>;
/// Result of the function: so many bytes; so many times as another slot says.
template <uint8_t kBytes>
using Result = Slot<SlotRule{SlotRole::result, kBytes}, void*>;
template <uint8_t kCount, uint8_t kBytes>
using Results = Slot<SlotRule{SlotRole::results, kBytes, {}, kCount}, void*>;

template <class Taken>
struct NoSlot {
  static constexpr uint32_t kSlots = 0;
  static constexpr SlotRule kRule{};
  using Type = Taken;
};
struct Handle : NoSlot<void*> {
  static void* take(CallArguments& from, size_t&) { return from.handle(); }
};
struct OnStream : NoSlot<void*> {
  static void* take(CallArguments& from, size_t&) { return from.stream(); }
};
/// Status that the function writes on the host before it returns.
struct Info : NoSlot<int32_t*> {
  static int32_t* take(CallArguments& from, size_t&) { return from.info(); }
};

template <class... Arguments>
struct Caller {
  static constexpr uint32_t kSlots = (0u + ... + Arguments::kSlots);
  static_assert(kSlots <= CallArguments::kMostSlots);
  static constexpr std::array<SlotRule, kSlots> kRules = [] {
    std::array<SlotRule, kSlots> rules{};
    size_t at = 0;
    ((Arguments::kSlots ? void(rules[at++] = Arguments::kRule) : void()), ...);
    return rules;
  }();

  static_assert(std::count_if(kRules.begin(), kRules.end(), [](const SlotRule& rule) {
                  return rule.role == SlotRole::scalar || rule.role == SlotRole::value_or_address ||
                         rule.role == SlotRole::value;
                }) <= ptrdiff_t{CallArguments::kMostScalars});

  static int32_t invoke(void* function, CallArguments& from) {
    size_t at = 0;
    // Braces: from left to right, as the slots come.
    const std::tuple<typename Arguments::Type...> arguments{Arguments::take(from, at)...};
    const auto call = reinterpret_cast<int32_t (*)(void*, typename Arguments::Type...)>(function);
    return std::apply([&](auto... argument) { return call(from.first(), argument...); }, arguments);
  }
};

template <class... Arguments>
constexpr CallSignature signature() {
  return {Caller<Arguments...>::kRules, &Caller<Arguments...>::invoke};
}

}  // namespace jitc::cuda

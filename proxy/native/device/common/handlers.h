// Registry of both devices: which function handles which op.
//
// Each family of ops has a handler class, with its own state, in that family's wing. Its header lists the
// functions; the op that a function handles is its parameter:
//
//   using Handled = device::HandlerList<&MemoryHandlers::allocate, &MemoryHandlers::free>;
//
// Promises: a function that takes something else than an op, or two functions for one op, do not compile; a
// handler is found by an index, without a search and without allocating; a record is checked against the
// length of its operands, and cast to its op, only here.
// Called by: the constructor and enqueue of each device, with the device's mutex held.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "base/operands.h"
#include "jitc/generated_op_traits.h"

namespace jitc::device {

template <class T>
concept AnOp = std::same_as<std::remove_cv_t<decltype(T::kId)>, ops::OpId> &&
               std::same_as<decltype(T::header), ops::OpHeader>;

/// Family and op of a handler.
template <class Function>
struct HandlerTraits;
template <class TheFamily, AnOp TheOp>
struct HandlerTraits<void (TheFamily::*)(const TheOp&)> {
  using Family = TheFamily;
  using Op = TheOp;
};

/// Function of a family object that handles an op.
struct Handler {
  void* family = nullptr;
  void (*function)(void* family, const ops::OpHeader& op) = nullptr;
  void operator()(const ops::OpHeader& op) const { function(family, op); }
};

/// Handlers of one family.
template <auto... functions>
struct HandlerList {
  static constexpr std::array<ops::OpId, sizeof...(functions)> kIds{
      HandlerTraits<decltype(functions)>::Op::kId...};

  template <class Family, class Take>
  static void for_each(Family& family, Take take) {
    (take(HandlerTraits<decltype(functions)>::Op::kId, Handler{&family, &call<functions>}), ...);
  }

 private:
  template <auto function>
  static void call(void* family, const ops::OpHeader& op) {
    using Traits = HandlerTraits<decltype(function)>;
    (static_cast<typename Traits::Family*>(family)->*function)(as<typename Traits::Op>(op));
  }
};

/// Check that no op has two handlers in the lists together.
template <class... Lists>
inline constexpr bool kOneHandlerPerOp = [] {
  std::array<bool, ops::kOps.size()> seen{};
  bool one = true;
  const auto see = [&](ops::OpId id) {
    bool& before = seen[ops::index_of(id)];
    one = one && !before;
    before = true;
  };
  (std::ranges::for_each(Lists::kIds, see), ...);
  return one;
}();

class Handlers {
 public:
  /// Registers the families, which must outlive this.
  template <class... Families>
  explicit Handlers(Families&... families) {
    static_assert(kOneHandlerPerOp<typename Families::Handled...>, "an op has two handlers");
    const auto add = [this](ops::OpId id, Handler handler) { handlers_[ops::index_of(id)] = handler; };
    (Families::Handled::for_each(families, add), ...);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

  /// Throws OpError unless the op exists and its record is as long as its operands.
  static void check(const ops::OpHeader& op);
  /// Returns the op's handler; nullptr: the device does not execute the op.
  const Handler* find(const ops::OpHeader& op) const {
    const ops::OpInfo* const info = ops::find(op.op);
    const Handler* const found = info ? &handlers_[static_cast<size_t>(info - ops::kOps.data())] : nullptr;
    return found && found->function ? found : nullptr;
  }

 private:
  std::array<Handler, ops::kOps.size()> handlers_{};
};

}  // namespace jitc::device

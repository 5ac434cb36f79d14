// Arguments of a library's call: requirements on its slots, and the values passed to the library.
//
// Used by blas/ and dnn/. Promises: a checked call has exactly the slots of its rules; an array is as long as
// the argument that counts it says; scalars and results lie in our own memory, so that a slot cannot make the
// library read or write host memory outside of the op.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "description.h"

namespace jitc::cuda {

/// Required content of a slot; signature.h says what each means.
enum class SlotRole : uint8_t {
  number,
  real,
  address,
  output,
  scalar,
  value_or_address,
  value,
  block,
  object,
  needed,
  array,
  size_of,
  sum_of,
  result,
  results,
};
struct SlotRule {
  SlotRole role;
  uint8_t bytes = 8;       // of a number, a scalar, a block, a result
  ops::ObjectKind kind{};  // of an object
  uint8_t other = 0;       // slot of the count, the tensor or the lengths of an array or of results
  bool is_signed = true;   // of a number
};

/// Object that the op carries.
struct CallObject {
  void* real;
  ops::ObjectKind kind;
  std::span<const int32_t> sizes;  // of a tensor
};
using CallObjects = std::span<const CallObject>;

class CallArguments {
 public:
  static constexpr size_t kMostSlots = 32, kMostScalars = 4;
  /// first: the function's first argument. Requires a checked call, whose bytes must outlive this.
  CallArguments(void* first, void* handle, void* stream, const Invocation& call, CallObjects objects);
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;

  void* first() const { return first_; }
  void* handle() const { return handle_; }
  void* stream() const { return stream_; }
  int32_t* info() { return &info_; }
  uint64_t word(size_t at) const { return words_[at]; }
  double real(size_t at) const;
  template <class Pointer>
  Pointer pointer(size_t at) const {
    return reinterpret_cast<Pointer>(words_[at]);
  }
  /// Returns all results, one after the other.
  std::vector<std::byte> results() const;

 private:
  struct alignas(16) Own {
    std::array<std::byte, kWidestScalar> bytes;
  };
  uint64_t word_of(const SlotView& slot, CallObjects objects);

  void *const first_, *const handle_, *const stream_;
  const Invocation& call_;
  int32_t info_ = 0;
  size_t scalars_used_ = 0, results_used_ = 0;
  std::array<uint64_t, kMostSlots> words_;
  std::array<Own, kMostScalars> scalars_;
  std::vector<Own> results_;  // each as aligned as anything the library may write
};

struct CallSignature {
  std::span<const SlotRule> rules;
  int32_t (*invoke)(void* function, CallArguments& arguments);
};
struct CallFunction {
  uint32_t id;
  const char* name;
  ops::ObjectKind changes;  // kind of the object that it sets, or kNothing
  CallSignature signature;
};
inline constexpr auto kNothing = static_cast<ops::ObjectKind>(UINT32_MAX);

/// Location of a call's scalars and results; any: it has none.
enum class PointerMode : int32_t { any = -1, host = 0, device = 1 };
/// Throws OpError unless the call's slots are those of the function.
PointerMode check_slots(const CallFunction& function, const Invocation& call, CallObjects objects);

}  // namespace jitc::cuda

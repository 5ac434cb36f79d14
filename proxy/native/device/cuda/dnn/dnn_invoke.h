// How a cuDNN function is called from slots: what each slot must hold, and the call itself.
//
// Used by generated_dnn_worker.cpp, which has the table of all functions, and by dnn_objects.cpp and dnn.cpp,
// which call invoke_function. Promises: a call takes exactly the slots of its
// rules; an array is as long as the argument that counts it says; results go to memory of our own.
#pragma once
#include <span>
#include <vector>

#include "device/common/error.h"
#include "dnn_description.h"
#include "dnn_library.h"

namespace jitc::cuda {

/// What a slot must hold.
struct DnnRule {
  enum class Role : uint8_t {
    number,
    real,
    address,
    scalar,
    object,
    array,
    size_of,
    sum_of,
    result,
    results
  };
  Role role;
  uint8_t bytes = 8;                          // of a number, of a result
  ops::DnnKind kind = ops::DnnKind::backend;  // of an object
  uint8_t other = 0;                          // slot of the count, the tensor or the lengths of an array
  uint16_t factor = 0;                        // bytes of one of results
};
constexpr DnnRule number(uint8_t bytes) { return {DnnRule::Role::number, bytes}; }
constexpr DnnRule real() { return {DnnRule::Role::real}; }
constexpr DnnRule address() { return {DnnRule::Role::address}; }
constexpr DnnRule scalar() { return {DnnRule::Role::scalar}; }
constexpr DnnRule object(ops::DnnKind kind) { return {DnnRule::Role::object, 8, kind}; }
/// As many as another slot says; as a tensor's second extent; as all of another array together.
constexpr DnnRule array(uint8_t count) { return {DnnRule::Role::array, 4, {}, count}; }
constexpr DnnRule size_of(uint8_t tensor) { return {DnnRule::Role::size_of, 4, {}, tensor}; }
constexpr DnnRule sum_of(uint8_t lengths) { return {DnnRule::Role::sum_of, 4, {}, lengths}; }
constexpr DnnRule result(uint8_t bytes) { return {DnnRule::Role::result, bytes}; }
constexpr DnnRule results(uint8_t count, uint16_t factor) {
  return {DnnRule::Role::results, 0, {}, count, factor};
}

class DnnObject;

/// The arguments of one call, checked before.
class DnnArguments {
 public:
  using Objects = std::span<const std::shared_ptr<const DnnObject>>;
  DnnArguments(void* handle, void* self, const DnnInvocation& call, Objects objects);

  void* handle() const { return handle_; }
  void* self() const { return self_; }
  template <class T>
  T number(size_t at) const {
    return static_cast<T>(value(at));
  }
  template <class T>
  T real(size_t at) const {
    double out;
    const uint64_t bits = value(at);
    std::memcpy(&out, &bits, sizeof out);
    return static_cast<T>(out);
  }
  void* address(size_t at) const { return reinterpret_cast<void*>(value(at)); }
  /// The descriptor of the slot; null where it is null.
  void* object(size_t at) const { return pointers_[at]; }
  const void* scalar(size_t at) const { return pointers_[at]; }
  template <class T>
  const T* array(size_t at) const {
    return static_cast<const T*>(pointers_[at]);
  }
  void* result(size_t at) const { return pointers_[at]; }
  /// All results, one after the other.
  std::vector<std::byte> results() const;

 private:
  uint64_t value(size_t at) const { return call_.slots[at].slot.value; }

  void* const handle_;
  void* const self_;
  const DnnInvocation& call_;
  std::vector<std::byte> results_;  // each as aligned as anything the library may write
  std::vector<void*> pointers_;
};

struct DnnFunction {
  uint32_t id;
  const char* name;
  ops::DnnKind changes;  // kind of the descriptor that it sets, or kNothing
  std::span<const DnnRule> rules;
  int32_t (*invoke)(void* function, const DnnArguments& arguments);
};
inline constexpr auto kNothing = static_cast<ops::DnnKind>(UINT32_MAX);

/// generated_dnn_worker.cpp, by id.
extern const DnnFunction kDnnFunctions[];
extern const uint32_t kDnnFunctionCount;
/// Makes the call, which sets self, or nothing: its results, one after the other. Throws OpError unless the
/// slots are what the function asks for, DnnFailure when the library refuses it.
std::vector<std::byte> invoke_function(const Cudnn& library, const DnnInvocation& call, ops::DnnKind changes,
                                       void* handle, void* self, DnnArguments::Objects objects);

}  // namespace jitc::cuda

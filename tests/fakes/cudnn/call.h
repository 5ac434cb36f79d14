// The frame around every exported function of the fake cuDNN: the line of the log, failures on request, the
// status; and the objects that callers know by opaque addresses. Used by every file of this folder.
// Promises: an address is never given out twice, so one that was destroyed is always refused.
#pragma once
#include <unistd.h>

#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../common/call_log.h"

namespace jitc::fakes {

/// cudnnStatus_t
enum DnnStatus : int {
  kDnnSuccess = 0,
  kDnnNotInitialized = 1001,
  kDnnBadParam = 2000,
  kDnnNullPointer = 2002,
  kDnnMisaligned = 2003,
  kDnnNotFinalized = 2004,
  kDnnTooSmall = 2006,
  kDnnShapeMismatch = 2008,
  kDnnDuplicated = 2009,
  kDnnAttributeType = 2010,
  kDnnNotSupported = 3000,
  kDnnHostAllocation = 4003,
  kDnnExecutionFailed = 5000,
};

struct DnnFailure {
  int code;
  const char* why;
};

struct DnnObject {
  DnnObject() = default;
  DnnObject(const DnnObject&) = default;
  DnnObject& operator=(const DnnObject&) = default;
  virtual ~DnnObject() = default;
};

/// The address by which the caller knows the object from now on.
void* keep(std::shared_ptr<DnnObject> object);
/// Throws kDnnNullPointer, or kDnnBadParam: nothing is kept there.
std::shared_ptr<DnnObject> kept(const void* address);
/// Another object at an address that is in use.
void replace(const void* address, std::shared_ptr<DnnObject> object);
void drop(const void* address);

/// Also throws kDnnBadParam when it is an object of another kind.
template <class T>
std::shared_ptr<T> object(const void* address) {
  auto one = std::dynamic_pointer_cast<T>(kept(address));
  if (!one) throw DnnFailure{kDnnBadParam, "an object of another kind"};
  return one;
}

/// The pointer, which must not be null.
template <class T>
T* given(T* pointer) {
  if (!pointer) throw DnnFailure{kDnnNullPointer, "a null pointer"};
  return pointer;
}

inline void require(bool good, const char* why, int code = kDnnBadParam) {
  if (!good) throw DnnFailure{code, why};
}

/// The names of a function's arguments in functions.def.
const std::vector<std::string>& argument_names(const char* function);
/// What cudnnGetLastErrorString tells this thread.
void remember_failure(const char* function, const char* why);

template <class T>
Field argument(const char* name, T value) {
  if constexpr (std::is_pointer_v<T>)
    return Field::address(name, static_cast<const void*>(value));
  else if constexpr (std::is_floating_point_v<T>)
    return Field::real(name, static_cast<double>(value));
  else if constexpr (std::is_signed_v<T>)
    return value < 0 ? Field::real(name, static_cast<double>(value))
                     : Field::count(name, static_cast<uint64_t>(value));
  else
    return Field::count(name, value);
}

/// Adds the arguments by the names of functions.def, as many as are given.
template <class... Args>
void note(CallLine& line, const char* function, const std::tuple<Args...>& args) {
  const auto& names = argument_names(function);
  [&]<size_t... each>(std::index_sequence<each...>) {
    (line.add(argument(names.at(each).c_str(), std::get<each>(args))), ...);
  }(std::index_sequence_for<Args...>());
}

template <class Args, class Body>
int dnn_call(const char* name, const Args& args, Body&& body) {
  CallLine line("cudnn", name);
  note(line, name, args);
  int result = asked_failure(name);
  while (result == kHang) ::pause();
  try {
    require(result == 0, "a failure that the test asked for", result);
    body(line);
  } catch (const DnnFailure& failure) {
    result = failure.code;
    remember_failure(name, failure.why);
  } catch (const std::bad_alloc&) {
    result = kDnnHostAllocation;
    remember_failure(name, "no memory on the host");
  }
  line.finish(result);
  return result;
}

template <class T>
int create(const char* name, void** out) {
  return dnn_call(name, std::tuple(), [&](CallLine& line) {
    *given(out) = keep(std::make_shared<T>());
    line.add(Field::address("out", *out));
  });
}

template <class T>
int destroy(const char* name, void* address) {
  return dnn_call(name, std::tuple(address), [&](CallLine&) {
    object<T>(address);
    drop(address);
  });
}

}  // namespace jitc::fakes

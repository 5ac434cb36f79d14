// Packs the arguments of a library's call into slots: the common part for the functions of all libraries.
//
// Used by blas_call.h and dnn_call.h, which derive from it. Promise: the first wrong argument decides the
// call's status.
#pragma once
#include "api/common/visible_devices.h"
#include "call_record.h"

namespace jitc::api {

/// Returns whether the address is the device's: reading it as host memory would end the process.
inline bool on_device(const void* at) {
  return Node::instance().owner(reinterpret_cast<uint64_t>(at)) != nullptr;
}

template <class Derived>
class CallArguments {
 public:
  Derived& number(uint64_t value) { return number(static_cast<int64_t>(value)); }
  Derived& number(int64_t value) { return slots_.number(value), self(); }
  Derived& number(int32_t value) { return number(int64_t{value}); }
  Derived& number(uint32_t value) { return number(int64_t{value}); }
  Derived& real(double value) { return slots_.real(value), self(); }
  Derived& address(uint64_t value) { return slots_.address(value), self(); }

 protected:
  Derived& fail(Status status) {
    if (!status_) status_ = status;
    return self();
  }
  CallSlots slots_;
  Status status_ = kSuccess;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace jitc::api

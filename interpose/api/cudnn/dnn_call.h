// cuDNN calls that are sent unchanged: the parts of generated_dnn_client.cpp.
//
// Used by that file and the other dnn_*.cpp. Promises: a call with a wrong handle, descriptor or array sends
// nothing and returns cuDNN's status for it; host memory is read before the call returns; an answered
// question is not asked again; only the first call of its kind waits for the library's status.
#pragma once
#include <vector>

#include "api/call/call_arguments.h"
#include "api/call/questions.h"
#include "dnn_descriptors.h"
#include "dnn_handle.h"

namespace jitc::api {

/// cudnnDataType_t.
enum DnnType : int32_t {
  kDnnF32 = 0,
  kDnnF64 = 1,
  kDnnF16 = 2,
  kDnnI8 = 3,
  kDnnI32 = 4,
  kDnnU8 = 6,
  kDnnBf16 = 9,
  kDnnI64 = 10,
  kDnnBoolean = 11,
  kDnnF8E4M3 = 12,
  kDnnF8E5M2 = 13,
  kDnnFastFloatForF8 = 14,
  kDnnF8E8M0 = 15,
  kDnnU32 = 19,
  kDnnComplexF32 = 20,
  kDnnComplexF64 = 21,
};
/// Returns the bytes of an element of a cudnnDataType_t; 0: none, or less than one.
constexpr uint32_t dnn_element_bytes(int32_t data_type) {
  switch (data_type) {
    case kDnnI8:
    case kDnnU8:
    case kDnnBoolean:
    case kDnnF8E4M3:
    case kDnnF8E5M2:
    case kDnnF8E8M0:
      return 1;
    case kDnnF16:
    case kDnnBf16:
      return 2;
    case kDnnF32:
    case kDnnI32:
    case kDnnFastFloatForF8:
    case kDnnU32:
      return 4;
    case kDnnF64:
    case kDnnI64:
    case kDnnComplexF32:
      return 8;
    case kDnnComplexF64:
      return 16;
    default:
      return 0;
  }
}

/// Returns the bytes of alpha or beta of a call with the descriptor's data.
uint32_t scalar_bytes(uint64_t descriptor);
/// Returns an extent of a tensor; 0: there is none.
int64_t size_of(uint64_t tensor, size_t dimension);
/// Limit of an array in a call, because a record has at most 4 MiB.
inline constexpr int64_t kMostNumbers = 1 << 18;
/// Returns the sum of count numbers; -1: one is negative, or there are more than an array may have.
int64_t sum_of(const int32_t* numbers, int64_t count);

/// Arguments that only cuDNN's functions have.
template <class Derived>
class DnnArguments : public CallArguments<Derived> {
 public:
  /// Checks a handle, which takes no slot.
  Derived& uses(uint64_t handle) {
    DnnHandle found;
    return find_dnn(handle, &found) ? self() : fail(kDnnBadParam);
  }
  /// Adds a descriptor. Passes 0 on: the library allows it for some descriptors and refuses it for others.
  Derived& descriptor(uint64_t handle, ops::ObjectKind kind) {
    DnnDescriptor found;
    if (!handle) return slots_.null(), self();
    if (!find_descriptor(kind, handle, &found)) return fail(kDnnBadParam);
    return slots_.object(found.record), self();
  }
  Derived& scalar(const void* at, uint32_t bytes) {
    if (!at) return slots_.null(), self();
    if (bytes == 0 || bytes > 8) return fail(kDnnBadParam);
    return slots_.scalar(at, bytes), self();
  }
  Derived& array(const int32_t* at, int64_t count) {
    if (!at || count < 0 || count > kMostNumbers) return fail(at ? kDnnBadParam : kDnnNullPointer);
    return slots_.array(at, static_cast<uint64_t>(count) * sizeof *at), self();
  }

 protected:
  using CallArguments<Derived>::fail;
  using CallArguments<Derived>::slots_;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

/// Function that sets a descriptor.
class DnnChange : public DnnArguments<DnnChange> {
 public:
  DnnChange(ops::ObjectKind kind, uint64_t changed, const char* name, uint32_t function);
  DnnChange& data_type(int32_t type) { return data_type_ = type, number(type); }
  DnnChange& sizes(const int32_t* at, int64_t count);
  Status apply();

 private:
  ops::ObjectKind kind_;
  uint64_t changed_;
  uint32_t function_;
  int32_t data_type_ = -1;
  std::vector<int32_t> sizes_;
};

/// Function that asks or computes.
class DnnCall : public DnnArguments<DnnCall> {
 public:
  DnnCall(uint64_t handle, const char* name, uint32_t function);
  /// Sets the destination of an answer; null: another answer is wanted, not this one.
  DnnCall& result(void* at, uint64_t bytes);
  Status ask();
  Status run();

 private:
  struct Wanted {
    void* at;
    uint64_t bytes;
  };
  const char* name_;
  uint32_t function_;
  StreamRef stream_;
  std::vector<Wanted> wanted_;
};

/// Returns the cached answer to the payload's question. calls: 1, or 0 to make descriptors only.
Answer dnn_ask(const StreamRef& stream, const CallPayload& payload, uint32_t calls, const char* name);
/// Returns the worker's result as an answer.
Answer dnn_answer(const session::Result& result, const char* name);
/// Returns the version of the session's libcudnn; false, with one message: it has none.
bool dnn_version(Session& session, uint64_t* version);

}  // namespace jitc::api

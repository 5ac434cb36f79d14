// Handles, versions and the names of statuses. See handle.h.
#include "handle.h"

#include <cstring>

#include "../over_driver/driver_calls.h"
#include "../over_driver/stream_work.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
constexpr int kVersion = 91900, kCudartVersion = 13000;
constexpr int kLaunchFailed = 719;
}  // namespace

void submit(CallLine& line, const DnnHandle& handle, std::function<void()> body) {
  line.add(Field::address("stream", handle.stream));
  require(put_on_stream(handle.stream, std::move(body)), "the driver refused the work", kDnnExecutionFailed);
}

void use_workspace(uint64_t address, size_t size) {
  if (size) std::memset(touch(address, size), 0xA5, size);
}

void fail_launch() { driver_calls()->fault(kLaunchFailed); }

size_t cudnnGetVersion() {
  CallLine("cudnn", "cudnnGetVersion").finish(kDnnSuccess);
  return kVersion;
}
size_t cudnnGetCudartVersion() {
  CallLine("cudnn", "cudnnGetCudartVersion").finish(kDnnSuccess);
  return kCudartVersion;
}

/// Major, minor and patch number of the version.
int cudnnGetProperty(int property, int* value) {
  constexpr int kParts[] = {kVersion / 10000, kVersion / 100 % 100, kVersion % 100};
  return dnn_call("cudnnGetProperty", std::tuple(property), [&](CallLine&) {
    require(property >= 0 && property < 3, "no such property");
    *given(value) = kParts[property];
  });
}

const char* cudnnGetErrorString(int status) {
  CallLine("cudnn", "cudnnGetErrorString").finish(kDnnSuccess);
  switch (status) {
#define JITC_NAME(number, name) \
  case number:                  \
    return "CUDNN_STATUS_" name;
    JITC_NAME(kDnnSuccess, "SUCCESS")
    JITC_NAME(kDnnNotInitialized, "NOT_INITIALIZED")
    JITC_NAME(kDnnBadParam, "BAD_PARAM")
    JITC_NAME(kDnnNullPointer, "BAD_PARAM_NULL_POINTER")
    JITC_NAME(kDnnMisaligned, "BAD_PARAM_MISALIGNED_POINTER")
    JITC_NAME(kDnnNotFinalized, "BAD_PARAM_NOT_FINALIZED")
    JITC_NAME(kDnnTooSmall, "BAD_PARAM_SIZE_INSUFFICIENT")
    JITC_NAME(kDnnShapeMismatch, "BAD_PARAM_SHAPE_MISMATCH")
    JITC_NAME(kDnnDuplicated, "BAD_PARAM_DUPLICATED_ENTRIES")
    JITC_NAME(kDnnAttributeType, "BAD_PARAM_ATTRIBUTE_TYPE")
    JITC_NAME(kDnnNotSupported, "NOT_SUPPORTED")
    JITC_NAME(kDnnExecutionFailed, "EXECUTION_FAILED")
#undef JITC_NAME
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}

int cudnnCreate(void** out) {
  return dnn_call("cudnnCreate", std::tuple(), [&](CallLine& line) {
    void* context = nullptr;
    const bool current = driver_calls() && driver_calls()->get_current(&context) == 0 && context;
    require(current, "there is no current context", kDnnNotInitialized);
    *given(out) = keep(std::make_shared<DnnHandle>());
    line.add(Field::address("out", *out));
  });
}
int cudnnDestroy(void* handle) { return destroy<DnnHandle>("cudnnDestroy", handle); }

int cudnnSetStream(void* handle, void* stream) {
  return dnn_call("cudnnSetStream", std::tuple(handle, stream),
                  [&](CallLine&) { object<DnnHandle>(handle)->stream = stream; });
}
int cudnnGetStream(void* handle, void** stream) {
  return dnn_call("cudnnGetStream", std::tuple(handle),
                  [&](CallLine&) { *given(stream) = object<DnnHandle>(handle)->stream; });
}

}  // namespace jitc::fakes

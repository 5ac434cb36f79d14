// cuDNN's handles and statuses.
//
// Used by the dnn_*.cpp files. Promise: a handle that does not exist gives cuDNN's own status and never a
// crash.
#pragma once
#include <string_view>

#include "api/stream/stream.h"

namespace jitc::api {

/// cudnnStatus_t.
inline constexpr Status kDnnNotInitialized = 1001, kDnnBadParam = 2000, kDnnNullPointer = 2002,
                        kDnnNotFinalized = 2004, kDnnStreamMismatch = 2007, kDnnAttributeType = 2010,
                        kDnnNotSupported = 3000, kDnnInternalError = 4000, kDnnExecutionFailed = 5000;

/// State of a cudnnHandle_t.
struct DnnHandle {
  int device = 0;
  Session* session = nullptr;
  uint64_t stream = 0;
};
bool find_dnn(uint64_t handle, DnnHandle* out);
/// Returns the stream of the handle's work.
Status dnn_stream(uint64_t handle, StreamRef* out);

/// Returns the status and keeps the library's message about it for cudnnGetLastErrorString.
Status dnn_failure(Status status, std::string_view text);

}  // namespace jitc::api

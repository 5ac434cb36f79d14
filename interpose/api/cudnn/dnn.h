// cuDNN as its files share it: handles and descriptors of the program, statuses.
//
// Used by the dnn_*.cpp files. Promise: a handle or descriptor that is not there, or of another kind, gives
// cuDNN's own status and never a crash.
#pragma once
#include <functional>
#include <memory>
#include <string_view>

#include "api/common/front.h"
#include "dnn_record.h"

namespace jitc::api {

inline constexpr Status kDnnNotInitialized = 1001, kDnnBadParam = 2000, kDnnNullPointer = 2002,
                        kDnnNotFinalized = 2004, kDnnStreamMismatch = 2007, kDnnAttributeType = 2010,
                        kDnnNotSupported = 3000, kDnnInternalError = 4000, kDnnExecutionFailed = 5000;

/// What a cudnnHandle_t stands for.
struct DnnHandle {
  int device = 0;
  Session* session = nullptr;
  uint64_t stream = 0;
};
bool find_dnn(uint64_t handle, DnnHandle* out);
/// The same, with where its work goes.
Status dnn_stream(uint64_t handle, StreamRef* out);

/// Execution of a plan on sessions (dnn_plan.cpp).
class DnnPlan;

/// What a cudnn...Descriptor_t stands for.
struct DnnDescriptor {
  std::shared_ptr<DnnRecord> record;
  int32_t type = -1;  // cudnnBackendDescriptorType_t
  bool finalized = false;
  std::shared_ptr<DnnPlan> plan;

  ops::DnnKind kind() const { return record->kind; }
};
Status create_descriptor(ops::DnnKind kind, uint64_t* made, int32_t type = -1);
Status destroy_descriptor(ops::DnnKind kind, uint64_t gone);
/// False: there is none of this kind.
bool find_descriptor(ops::DnnKind kind, uint64_t handle, DnnDescriptor* out);
/// Calls change(DnnDescriptor&), whose record nobody else holds then. BAD_PARAM: there is none of this kind.
Status change_descriptor(ops::DnnKind kind, uint64_t handle,
                         const std::function<void(DnnDescriptor&)>& change);

/// The status, with what the library said of it, for cudnnGetLastErrorString.
Status dnn_failure(Status status, std::string_view text);

}  // namespace jitc::api

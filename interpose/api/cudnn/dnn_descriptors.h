// cuDNN descriptors of the program.
//
// Used by the dnn_*.cpp files. Promise: a descriptor that does not exist, or of another kind, gives cuDNN's
// own status and never a crash.
#pragma once
#include <functional>
#include <memory>

#include "api/call/call_record.h"
#include "api/common/status.h"
#include "jitc/generated_dnn.h"

namespace jitc::api {

/// Execution of a plan on sessions (dnn_plan.cpp).
class DnnPlan;

/// State of a cudnn...Descriptor_t.
struct DnnDescriptor {
  std::shared_ptr<ObjectRecord> record;
  int32_t type = -1;  // cudnnBackendDescriptorType_t
  bool finalized = false;
  std::shared_ptr<DnnPlan> plan;

  ops::ObjectKind kind() const { return record->kind; }
};
Status create_descriptor(ops::ObjectKind kind, uint64_t* made, int32_t type = -1);
Status destroy_descriptor(ops::ObjectKind kind, uint64_t gone);
/// Finds a descriptor. False: there is none of this kind.
bool find_descriptor(ops::ObjectKind kind, uint64_t handle, DnnDescriptor* out);
/// Calls change(DnnDescriptor&) with a record that has no other owner. BAD_PARAM: there is none of this kind.
Status change_descriptor(ops::ObjectKind kind, uint64_t handle,
                         const std::function<void(DnnDescriptor&)>& change);

}  // namespace jitc::api

// Contexts of the driver API: each device has one, its primary context; the current one is the thread's
// device.
//
// Promise: nothing here asks the service (PyTorch calls these functions hundreds of times per step).
#include "api/common/settings.h"
#include "api/common/visible_devices.h"
#include "api/generated/generated_api.h"

namespace jitc::api {
namespace {

thread_local std::vector<int> context_stack;

Status no_device() { return visible_count() ? kInvalidDevice : kNoDevice; }

}  // namespace

int32_t cuCtxDisablePeerAccess(uint64_t peer) {
  return device_of_context(peer) >= 0 ? kSuccess : kDeviceUninitialized;
}
int32_t cuCtxEnablePeerAccess(uint64_t peer, uint32_t) {
  return device_of_context(peer) >= 0 ? kSuccess : kDeviceUninitialized;
}
int32_t cuDevicePrimaryCtxRetain(uint64_t* context, int32_t device) {
  if (!context) return kInvalidValue;
  if (!visible_gpu(device)) return no_device();
  *context = context_of(device);
  return kSuccess;
}
int32_t cuDevicePrimaryCtxRelease_v2(int32_t device) { return visible_gpu(device) ? kSuccess : no_device(); }
int32_t cuDevicePrimaryCtxSetFlags_v2(int32_t device, uint32_t flags) {
  return visible_gpu(device) ? set_device_flags(device, flags) : no_device();
}
int32_t cuDevicePrimaryCtxGetState(int32_t device, uint32_t* flags, int32_t* active) {
  if (!flags || !active) return kInvalidValue;
  if (!visible_gpu(device)) return no_device();
  *flags = device_flags(device);
  *active = has_session(device);
  return kSuccess;
}
int32_t cuCtxGetCurrent(uint64_t* context) {
  if (!context) return kInvalidValue;
  const int device = current_device();
  *context = has_chosen_device() || has_session(device) ? context_of(device) : 0;
  return kSuccess;
}
int32_t cuCtxSetCurrent(uint64_t context) {
  if (!context) return forget_chosen_device(), kSuccess;
  const int device = device_of_context(context);
  return device < 0 ? kDeviceUninitialized : set_current_device(device);
}
int32_t cuCtxPushCurrent_v2(uint64_t context) {
  context_stack.push_back(current_device());
  const Status status = cuCtxSetCurrent(context);
  if (status) context_stack.pop_back();
  return status;
}
int32_t cuCtxPopCurrent_v2(uint64_t* context) {
  if (context_stack.empty()) return kDeviceUninitialized;
  if (context) *context = context_of(current_device());
  const int device = context_stack.back();
  context_stack.pop_back();
  return set_current_device(device);
}
int32_t cuCtxGetDevice(int32_t* device) { return cudaGetDevice(device); }
int32_t cuCtxGetApiVersion(uint64_t, uint32_t* version) {
  if (!version) return kInvalidValue;
  *version = 13000;
  return kSuccess;
}

}  // namespace jitc::api

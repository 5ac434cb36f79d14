// GPUs that this process sees, the calling thread's device, and the sessions on the devices.
//
// Included by most of api/. Promises: nothing here asks the service before the first call that needs a GPU;
// handles and tables are never destroyed (threads still run at exit).
#pragma once
#include <string>

#include "session/service/node.h"
#include "status.h"

namespace jitc::api {

using session::GpuInfo;
using session::Node;
using session::Session;

/// Returns true in a child made by fork after CUDA was used: it may not use CUDA.
bool forked();

/// Returns the number of GPUs that this process sees (CUDA_VISIBLE_DEVICES); asks the service once.
int visible_count();
/// Returns the service's description of a visible device; nullptr when there is no such device.
const GpuInfo* visible_gpu(int device);
/// Returns whether the thread's device runs kernels (kind cuda) or is in plain host memory (kind software).
bool runs_kernels();
/// Returns the calling thread's device.
int current_device();
Status set_current_device(int device);
/// Returns whether the thread has made a device (a context) current by hand.
bool has_chosen_device();
void forget_chosen_device();
/// Returns the session of a visible device, opened on first use; nullptr with the reason in *error.
Session* session_of(int device, Status* error);
inline Session* current_session(Status* error) { return session_of(current_device(), error); }
/// Returns whether a session on the device is open.
bool has_session(int device);
/// Returns the visible device that a session serves, or -1.
int device_of(const Session* session);
/// Returns the driver's context of a device, and back (-1: not a context).
uint64_t context_of(int device);
int device_of_context(uint64_t context);
inline constexpr int kMaxDevices = 64;

}  // namespace jitc::api

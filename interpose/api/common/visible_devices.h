// The GPUs that this process sees, the calling thread's device, and the sessions on the devices.
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

/// True in a child made by fork after CUDA was used: it may not use CUDA.
bool forked();

/// GPUs that this process sees (CUDA_VISIBLE_DEVICES); asks the service once.
int visible_count();
/// What the service says of a visible device; nullptr when there is no such device.
const GpuInfo* visible_gpu(int device);
/// Whether the thread's device runs kernels (kind cuda) or is in plain host memory (kind software).
bool runs_kernels();
/// The calling thread's device.
int current_device();
Status set_current_device(int device);
/// Whether the thread has made a device (a context) current by hand.
bool has_chosen_device();
void forget_chosen_device();
/// The session of a visible device, opened on first use; nullptr with the reason in *error.
Session* session_of(int device, Status* error);
inline Session* current_session(Status* error) { return session_of(current_device(), error); }
/// Whether a session on the device is open.
bool has_session(int device);
/// The visible device that a session serves, or -1.
int device_of(const Session* session);
/// The driver's context of a device, and back (-1: not a context).
uint64_t context_of(int device);
int device_of_context(uint64_t context);
inline constexpr int kMaxDevices = 64;

}  // namespace jitc::api

// What the whole API layer shares: status values, the calling thread's device, sessions, the last error.
//
// Included by every hand-written file of this folder. Promises: nothing here asks the service before the
// first call that needs a GPU; handles and tables are never destroyed (threads still run at exit).
#pragma once
#include <string>

#include "api/generated/generated_api.h"
#include "session/session.h"

namespace jitc::api {

using Status = int32_t;
using runtime::GpuInfo;
using runtime::Node;
using runtime::Session;

inline constexpr Status kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInitializationError = 3,
                        kInvalidPitch = 12, kInvalidDevicePointer = 17, kNoDevice = 100, kInvalidDevice = 101,
                        kInvalidContext = 201, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600,
                        kPeerAccessAlreadyEnabled = 704, kPeerAccessNotEnabled = 705,
                        kAlreadyRegistered = 712, kNotRegistered = 713, kNotSupported = 801,
                        kExternalDevice = 911, kUnknown = 999;
inline constexpr Status kNcclUnhandledCudaError = 1, kNcclSystemError = 2, kNcclInternalError = 3,
                        kNcclInvalidArgument = 4, kNcclInvalidUsage = 5, kNcclRemoteError = 6;
inline constexpr Status kBlasNotInitialized = 1, kBlasAllocFailed = 3, kBlasInvalidValue = 7,
                        kBlasExecutionFailed = 13, kBlasInternalError = 14, kBlasNotSupported = 15;

/// True in a child made by fork after CUDA was used: it may not use CUDA.
bool forked();
/// Remembers an error for cudaGetLastError (not kNotReady, which is no error); returns it.
Status keep_error(Status status);
/// A status from the service as the program may see it.
Status from_result(uint32_t status);
/// The program has as many of a kind as one program may have (jitc/limits.h): says so once, gives the error.
Status too_many(const char* what, size_t most);

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

/// A stream as the program has it, resolved: where its ops go.
struct StreamRef {
  Session* session = nullptr;
  uint64_t id = 0;  // op stream
  int device = 0;
};
/// Status of the look-up; the default streams belong to the thread's device.
Status resolve_stream(uint64_t stream, StreamRef* out);
/// Waits until the stream has done everything submitted so far.
Status synchronize(const StreamRef& stream);

/// Why a submit gave no sequence: the session is over, or the op was larger than the protocol allows.
inline Status not_submitted(const Session& session) {
  const uint32_t over = session.status();
  return over ? from_result(over) : kInvalidValue;
}
inline Status submitted(const Session& session, uint64_t sequence) {
  return sequence ? kSuccess : not_submitted(session);
}
template <class Op>
Op on_stream(uint64_t stream) {
  Op op;
  op.header.stream = stream;
  return op;
}

}  // namespace jitc::api

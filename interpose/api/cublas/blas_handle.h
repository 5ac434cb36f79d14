// cuBLAS handles of the program: stream, pointer mode, workspace.
//
// Used by the functions that take a handle (blas, blas_call, blaslt, lt_call).
#pragma once
#include "api/stream/stream.h"

namespace jitc::api {

/// cublasPointerMode_t.
enum PointerMode : int32_t { kScalarsOnHost = 0, kScalarsOnDevice = 1 };

/// State of a cuBLAS handle.
struct Blas {
  struct Workspace {
    uint64_t address = 0, bytes = 0;  // as in the op blas_set
    bool operator==(const Workspace&) const = default;
  };
  int device = 0;
  Session* session = nullptr;  // its worker has the handle too; null on a device without kernels
  uint64_t stream = 0;
  int32_t pointer_mode = 0, math_mode = 0, atomics = 0;
  Workspace workspace, sent;  // set by the program, known to the worker
};
bool find_blas(uint64_t handle, Blas* out);
/// Returns the stream of the handle's work: its own, or the default stream of its device.
Status blas_stream(uint64_t handle, Blas* blas, StreamRef* out);
/// Sends the handle's workspace to the worker, if the worker has another.
Status send_workspace(uint64_t handle);
/// Sets the function notified of each workspace that a handle gets or loses; null: none.
void set_workspace_listener(void (*listener)(uint64_t address, size_t bytes, int set));
/// Returns whether it is a cuBLAS handle, which is also accepted as a cuBLASLt handle.
bool is_blas_handle(uint64_t handle);

}  // namespace jitc::api

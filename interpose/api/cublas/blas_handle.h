// cuBLAS handles of the program: stream, pointer mode, workspace.
//
// Used by the functions that take a handle (blas, blas_call, blaslt, lt_call).
#pragma once
#include "api/stream/stream.h"

namespace jitc::api {

/// cublasPointerMode_t.
enum PointerMode : int32_t { kScalarsOnHost = 0, kScalarsOnDevice = 1 };

/// What a cuBLAS handle stands for.
struct Blas {
  struct Workspace {
    uint64_t address = 0, bytes = 0;  // as in the op blas_set
    bool operator==(const Workspace&) const = default;
  };
  int device = 0;
  Session* session = nullptr;  // where the worker has the handle too; null on a device without kernels
  uint64_t stream = 0;
  int32_t pointer_mode = 0, math_mode = 0, atomics = 0;
  Workspace workspace, sent;  // as the program has set it, as the worker knows it
};
bool find_blas(uint64_t handle, Blas* out);
/// Where the handle's work goes: its stream, or the default stream of its device.
Status blas_stream(uint64_t handle, Blas* blas, StreamRef* out);
/// Sends the handle's workspace to the worker, if the worker has another.
Status send_workspace(uint64_t handle);
/// Is told of each workspace that a handle gets or loses; null: nobody is.
void set_workspace_listener(void (*listener)(uint64_t address, size_t bytes, int set));
/// A cuBLAS handle is also accepted as a cuBLASLt handle.
bool is_blas_handle(uint64_t handle);

}  // namespace jitc::api

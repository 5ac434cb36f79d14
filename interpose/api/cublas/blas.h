// Matrix products as cuBLAS and cuBLASLt share them.
#pragma once
#include "api/common/front.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

/// cudaDataType_t and cublasComputeType_t values that are served.
enum DataType : uint32_t { kF32 = 0, kF64 = 1, kF16 = 2, kBf16 = 14, kI8 = 3, kI32 = 10 };
enum Compute : uint32_t { kCompute16F = 64, kCompute32F = 68, kCompute64F = 70, kCompute32I = 72 };

/// Bytes of an element; 0: not served.
uint64_t type_bytes(uint32_t type);
/// Types that go together, and what alpha and beta are then; false: not served.
bool scale_type_of(uint32_t compute, uint32_t* scale_type);
/// alpha and beta: read now when they are on the host, by the device otherwise.
Status set_scalars(ops::Matmul* op, const void* alpha, const void* beta, bool on_device);
/// Checks shapes and addresses (they must lie in one session's memory), then submits.
Status submit_matmul(const StreamRef& stream, ops::Matmul op);
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
  Workspace workspace, sent;  // as the program sees it, as the worker has it
};
bool find_blas(uint64_t handle, Blas* out);
/// Where the handle's work goes: its stream, or the default stream of its device.
Status blas_stream(uint64_t handle, Blas* blas, StreamRef* out);
/// Tells the worker of the handle's workspace, where it has another.
Status send_workspace(uint64_t handle);
/// The cuBLAS handle's stream and the like; also accepted where a cuBLASLt handle is asked for.
bool is_blas_handle(uint64_t handle);

}  // namespace jitc::api

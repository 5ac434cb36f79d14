// cuBLAS handles: stream, pointer mode and the like, all local; versions and texts.
#include "blas.h"
#include "handles.h"

namespace jitc::front {
namespace {

using Handles = HandleTable<Blas, Kind::blas>;
Handles& handles() {
  static auto& out = *new Handles;
  return out;
}
constexpr int kVersion = 130000;

template <class Change>
Status change(uint64_t handle, Change&& apply) {
  return handles().update(handle, apply) ? kSuccess : kBlasNotInitialized;
}
template <class T, class Read>
Status read(uint64_t handle, T* out, Read&& get) {
  Blas blas;
  if (!handles().get(handle, &blas)) return kBlasNotInitialized;
  if (!out) return kBlasInvalidValue;
  *out = get(blas);
  return kSuccess;
}

const char* const kStatusNames[] = {"CUBLAS_STATUS_SUCCESS",
                                    "CUBLAS_STATUS_NOT_INITIALIZED",
                                    "",
                                    "CUBLAS_STATUS_ALLOC_FAILED",
                                    "",
                                    "",
                                    "",
                                    "CUBLAS_STATUS_INVALID_VALUE",
                                    "CUBLAS_STATUS_ARCH_MISMATCH",
                                    "",
                                    "",
                                    "CUBLAS_STATUS_MAPPING_ERROR",
                                    "",
                                    "CUBLAS_STATUS_EXECUTION_FAILED",
                                    "CUBLAS_STATUS_INTERNAL_ERROR",
                                    "CUBLAS_STATUS_NOT_SUPPORTED",
                                    "CUBLAS_STATUS_LICENSE_ERROR"};

}  // namespace

bool find_blas(uint64_t handle, Blas* out) { return handles().get(handle, out); }

Status blas_stream(uint64_t handle, Blas* blas, StreamRef* out) {
  if (!handles().get(handle, blas)) return kBlasNotInitialized;
  Status status = kSuccess;
  if (blas->stream > 2) {
    status = resolve_stream(blas->stream, out);
  } else {
    *out = {session_of(blas->device, &status), 0, blas->device};
  }
  return status ? kBlasExecutionFailed : kSuccess;
}

bool is_blas_handle(uint64_t handle) { return handles().contains(handle); }

int32_t cublasCreate_v2(uint64_t* handle) {
  if (!handle) return kBlasInvalidValue;
  if (!visible_gpu(current_device())) return kBlasNotInitialized;
  Blas blas;
  blas.device = current_device();
  *handle = handles().add(blas);
  return kSuccess;
}
int32_t cublasDestroy_v2(uint64_t handle) {
  Blas gone;
  return handles().remove(handle, &gone) ? kSuccess : kBlasNotInitialized;
}
int32_t cublasGetVersion_v2(uint64_t, int32_t* version) {
  if (!version) return kBlasInvalidValue;
  *version = kVersion;
  return kSuccess;
}
int32_t cublasGetProperty(int32_t property, int32_t* value) {
  if (!value || property < 0 || property > 2) return kBlasInvalidValue;
  *value = property == 0 ? kVersion / 10000 : 0;
  return kSuccess;
}
const char* cublasGetStatusName(int32_t status) {
  const bool known =
      status >= 0 && status < static_cast<int32_t>(std::size(kStatusNames)) && *kStatusNames[status];
  return known ? kStatusNames[status] : "unknown status";
}
const char* cublasGetStatusString(int32_t status) { return cublasGetStatusName(status); }
int32_t cublasSetStream_v2(uint64_t handle, uint64_t stream) {
  StreamRef ref;
  if (stream > 2 && resolve_stream(stream, &ref)) return kBlasInvalidValue;
  return change(handle, [&](Blas& b) { b.stream = stream; });
}
int32_t cublasGetStream_v2(uint64_t handle, uint64_t* stream) {
  return read(handle, stream, [](const Blas& b) { return b.stream; });
}
int32_t cublasSetWorkspace_v2(uint64_t handle, uint64_t, size_t) {
  return change(handle, [](Blas&) {});
}
int32_t cublasSetMathMode(uint64_t handle, int32_t mode) {
  return change(handle, [&](Blas& b) { b.math_mode = mode; });
}
int32_t cublasGetMathMode(uint64_t handle, int32_t* mode) {
  return read(handle, mode, [](const Blas& b) { return b.math_mode; });
}
int32_t cublasSetPointerMode_v2(uint64_t handle, int32_t mode) {
  if (mode != 0 && mode != 1) return kBlasInvalidValue;
  return change(handle, [&](Blas& b) { b.pointer_mode = mode; });
}
int32_t cublasGetPointerMode_v2(uint64_t handle, int32_t* mode) {
  return read(handle, mode, [](const Blas& b) { return b.pointer_mode; });
}
int32_t cublasSetAtomicsMode(uint64_t handle, int32_t mode) {
  return change(handle, [&](Blas& b) { b.atomics = mode; });
}
int32_t cublasGetAtomicsMode(uint64_t handle, int32_t* mode) {
  return read(handle, mode, [](const Blas& b) { return b.atomics; });
}

}  // namespace jitc::front

// cuBLAS handles: stream, pointer mode and the like; versions and texts.
//
// Promise: on a device with kernels the worker has the same handle with the same modes before any call that
// is submitted after them. cublasSetStream removes the workspace, as the library's does. PyTorch sets both
// before every call; so the worker is informed only on a call with another workspace.
#include "blas_handle.h"

#include <atomic>
#include <utility>

#include "api/common/handles.h"
#include "api/generated/generated_api.h"
#include "jitc/limits.h"

namespace jitc::api {
namespace {

using Handles = HandleTable<Blas, Kind::blas>;
Handles& handles() {
  static auto& out = *new Handles;
  return out;
}
constexpr int kVersion = 130000;
constexpr uint64_t kWorkspaceAlignment = 256, kNoWorkspace = UINT64_MAX;

std::atomic<void (*)(uint64_t, size_t, int)> workspace_listener{nullptr};

/// Notifies of `gone`, then of `here`: the second replaces the first on a handle.
void announce(const Blas::Workspace& gone, const Blas::Workspace& here) {
  const auto listener = workspace_listener.load(std::memory_order_acquire);
  if (!listener) return;
  if (gone.address) listener(gone.address, gone.bytes, 0);
  if (here.address) listener(here.address, here.bytes, 1);
}

/// Sends a change to the worker, except for a device without kernels.
Status send(const Blas& blas, uint64_t handle, ops::BlasField field, int32_t mode,
            Blas::Workspace workspace = {}) {
  if (!blas.session) return kSuccess;
  ops::BlasSet op;
  op.handle = handle;
  op.field = static_cast<uint32_t>(field);
  op.mode = mode;
  op.address = workspace.address, op.bytes = workspace.bytes;
  return blas.session->submit(op) ? kSuccess : kBlasExecutionFailed;
}

Status set_mode(uint64_t handle, int32_t Blas::* member, ops::BlasField field, int32_t mode) {
  Blas blas;
  int32_t before = mode;
  const auto exchange = [&](Blas& b) { before = std::exchange(b.*member, mode), blas = b; };
  if (!handles().update(handle, exchange)) return kBlasNotInitialized;
  return before == mode ? kSuccess : send(blas, handle, field, mode);
}

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
  if (!is_default_stream(blas->stream)) {
    status = resolve_stream(blas->stream, out);
  } else {
    *out = {session_of(blas->device, &status), 0, blas->device};
  }
  return status ? kBlasExecutionFailed : kSuccess;
}

Status send_workspace(uint64_t handle) {
  Blas blas;
  Blas::Workspace before;
  const auto note = [&](Blas& b) { before = std::exchange(b.sent, b.workspace), blas = b; };
  if (!handles().update(handle, note)) return kBlasNotInitialized;
  if (before == blas.workspace) return kSuccess;
  announce(before, blas.workspace);
  return send(blas, handle, ops::BlasField::workspace, 0, blas.workspace);
}

void set_workspace_listener(void (*listener)(uint64_t, size_t, int)) { workspace_listener.store(listener); }

bool is_blas_handle(uint64_t handle) { return handles().contains(handle); }

int32_t cublasCreate_v2(uint64_t* handle) {
  if (!handle) return kBlasInvalidValue;
  if (!visible_gpu(current_device())) return kBlasNotInitialized;
  Blas blas;
  Status status = kSuccess;
  blas.device = current_device();
  if (runs_kernels() && !(blas.session = session_of(blas.device, &status))) return kBlasNotInitialized;
  if (blas.session) blas.session->name_late_variables();
  ops::BlasCreate op;
  *handle = op.handle = handles().add(blas, limits::kBlasHandles);
  if (!op.handle) return too_many("cuBLAS handles", limits::kBlasHandles), kBlasAllocFailed;
  return !blas.session || blas.session->submit(op) ? kSuccess : kBlasNotInitialized;
}
int32_t cublasDestroy_v2(uint64_t handle) {
  Blas gone;
  if (!handles().remove(handle, &gone)) return kBlasNotInitialized;
  announce(gone.sent, {});
  ops::BlasDestroy op;
  op.handle = handle;
  return !gone.session || gone.session->submit(op) ? kSuccess : kBlasExecutionFailed;
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
  return known ? kStatusNames[status] : "unrecognized status";
}
const char* cublasGetStatusString(int32_t status) { return cublasGetStatusName(status); }
int32_t cublasSetStream_v2(uint64_t handle, uint64_t stream) {
  StreamRef ref;
  if (!is_default_stream(stream) && resolve_stream(stream, &ref)) return kBlasInvalidValue;
  return change(handle, [&](Blas& b) { b.stream = stream, b.workspace = {}; });
}
int32_t cublasGetStream_v2(uint64_t handle, uint64_t* stream) {
  return read(handle, stream, [](const Blas& b) { return b.stream; });
}
int32_t cublasSetWorkspace_v2(uint64_t handle, uint64_t address, size_t bytes) {
  if (address % kWorkspaceAlignment) return kBlasInvalidValue;
  const Blas::Workspace workspace{address, address || bytes ? bytes : kNoWorkspace};
  const Status status = change(handle, [&](Blas& b) { b.workspace = workspace; });
  return status ? status : send_workspace(handle);
}
int32_t cublasSetMathMode(uint64_t handle, int32_t mode) {
  return set_mode(handle, &Blas::math_mode, ops::BlasField::math_mode, mode);
}
int32_t cublasGetMathMode(uint64_t handle, int32_t* mode) {
  return read(handle, mode, [](const Blas& b) { return b.math_mode; });
}
int32_t cublasSetPointerMode_v2(uint64_t handle, int32_t mode) {
  if (mode != kScalarsOnHost && mode != kScalarsOnDevice) return kBlasInvalidValue;
  return set_mode(handle, &Blas::pointer_mode, ops::BlasField::pointer_mode, mode);
}
int32_t cublasGetPointerMode_v2(uint64_t handle, int32_t* mode) {
  return read(handle, mode, [](const Blas& b) { return b.pointer_mode; });
}
int32_t cublasSetAtomicsMode(uint64_t handle, int32_t mode) {
  if (mode != 0 && mode != 1) return kBlasInvalidValue;
  return set_mode(handle, &Blas::atomics, ops::BlasField::atomics_mode, mode);
}
int32_t cublasGetAtomicsMode(uint64_t handle, int32_t* mode) {
  return read(handle, mode, [](const Blas& b) { return b.atomics; });
}
int32_t cublasSetSmCountTarget(uint64_t handle, int32_t count) {
  if (count < 0) return kBlasInvalidValue;
  return change(handle, [](Blas&) {});  // reports whether the handle exists
}

}  // namespace jitc::api

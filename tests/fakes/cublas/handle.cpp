// Handles and their modes. See handle.h.
#include "handle.h"

#include <map>
#include <mutex>

#include "../over_driver/driver_calls.h"
#include "../over_driver/stream_work.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
constexpr int kVersion = 130000;

struct Handles {
  std::mutex mutex;
  std::map<void*, std::unique_ptr<BlasHandle>> all;
  uintptr_t next = 0xb1a50000;
};

Handles& handles() {
  static Handles* const one = new Handles;
  return *one;
}

int set(const char* name, void* handle, int BlasHandle::* member, int value, int most) {
  return blas_call(name, {Field::address("handle", handle), Field::real("value", value)}, [&](CallLine&) {
    if (value < 0 || value > most) throw BlasFailure{kBlasInvalidValue};
    handle_of(handle).*member = value;
  });
}

int get(const char* name, void* handle, int BlasHandle::* member, int* out) {
  return blas_call(name, {Field::address("handle", handle)},
                   [&](CallLine&) { *out = handle_of(handle).*member; });
}
}  // namespace

BlasHandle& handle_of(void* handle) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().all.find(handle);
  if (found == handles().all.end()) throw BlasFailure{kBlasNotInitialized};
  return *found->second;
}

void note_state(CallLine& line, const BlasHandle& handle) {
  line.add(Field::address("stream", handle.stream));
  line.add(Field::address("workspace", handle.workspace));
  line.add(Field::count("workspace_bytes", handle.workspace_bytes));
  line.add(Field::real("math_mode", handle.math_mode));
  line.add(Field::real("pointer_mode", handle.pointer_mode));
  line.add(Field::real("atomics_mode", handle.atomics_mode));
}

Scalar scalar(CallLine& line, const char* name, const BlasHandle& handle, int type, const void* pointer) {
  if (!pointer) throw BlasFailure{kBlasInvalidValue};
  if (handle.on_device()) {
    line.add(Field::address(name, pointer));
    return {type, 0, reinterpret_cast<uint64_t>(pointer)};
  }
  const double value = load(type, pointer);
  line.add(Field::real(name, value));
  return {type, value, 0};
}

void submit(const BlasHandle& handle, std::function<void()> body) {
  if (!put_on_stream(handle.stream, std::move(body))) throw BlasFailure{kBlasExecutionFailed};
}

void submit_result(const BlasHandle& handle, int type, void* result, std::function<double()> body) {
  if (!result) throw BlasFailure{kBlasInvalidValue};
  const bool on_device = handle.on_device();
  submit(handle, [=, body = std::move(body)] {
    const auto address = reinterpret_cast<uint64_t>(result);
    void* place = on_device ? touch(address, bytes_of(type)) : result;
    store(type, place, 0, body());
  });
  if (!on_device && driver_calls()->synchronize(handle.stream) != 0) throw BlasFailure{kBlasExecutionFailed};
}

int cublasCreate_v2(void** out) {
  return blas_call("cublasCreate_v2", {}, [&](CallLine& line) {
    line.add(Field::text("environment", environment_seen().c_str()));
    void* context = nullptr;
    if (!driver_calls() || driver_calls()->get_current(&context) != 0 || !context)
      throw BlasFailure{kBlasNotInitialized};
    const std::lock_guard lock(handles().mutex);
    *out = reinterpret_cast<void*>(handles().next += 16);
    handles().all[*out] = std::make_unique<BlasHandle>();
    line.add(Field::address("out", *out));
  });
}

int cublasDestroy_v2(void* handle) {
  return blas_call("cublasDestroy_v2", {Field::address("handle", handle)}, [&](CallLine&) {
    handle_of(handle);
    const std::lock_guard lock(handles().mutex);
    handles().all.erase(handle);
  });
}

int cublasGetVersion_v2(void*, int* version) { return *version = kVersion, kBlasSuccess; }

/// Major, minor and patch number of the version.
int cublasGetProperty(int kind, int* value) {
  constexpr int kParts[] = {kVersion / 10000, kVersion / 100 % 100, kVersion % 100};
  if (kind < 0 || kind > 2 || !value) return kBlasInvalidValue;
  return *value = kParts[kind], kBlasSuccess;
}

const char* cublasGetStatusName(int status) {
  switch (status) {
    case kBlasSuccess:
      return "CUBLAS_STATUS_SUCCESS";
    case kBlasNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kBlasInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kBlasExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kBlasNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
const char* cublasGetStatusString(int status) { return cublasGetStatusName(status); }

/// As with cuBLAS, the workspace is the library's own again.
int cublasSetStream_v2(void* handle, void* stream) {
  return blas_call("cublasSetStream_v2", {Field::address("handle", handle), Field::address("stream", stream)},
                   [&](CallLine&) {
                     BlasHandle& one = handle_of(handle);
                     one.stream = stream;
                     one.workspace = nullptr;
                     one.workspace_bytes = 0;
                   });
}
int cublasGetStream_v2(void* handle, void** stream) {
  return blas_call("cublasGetStream_v2", {}, [&](CallLine&) { *stream = handle_of(handle).stream; });
}

int cublasSetWorkspace_v2(void* handle, void* workspace, size_t bytes) {
  return blas_call("cublasSetWorkspace_v2",
                   {Field::address("handle", handle), Field::address("workspace", workspace),
                    Field::count("bytes", bytes)},
                   [&](CallLine&) {
                     BlasHandle& one = handle_of(handle);
                     if (reinterpret_cast<uintptr_t>(workspace) % 256) throw BlasFailure{kBlasInvalidValue};
                     one.workspace = workspace;
                     one.workspace_bytes = bytes;
                   });
}

int cublasSetMathMode(void* handle, int mode) {
  return set("cublasSetMathMode", handle, &BlasHandle::math_mode, mode, 0x1FF);
}
int cublasGetMathMode(void* handle, int* mode) {
  return get("cublasGetMathMode", handle, &BlasHandle::math_mode, mode);
}
int cublasSetPointerMode_v2(void* handle, int mode) {
  return set("cublasSetPointerMode_v2", handle, &BlasHandle::pointer_mode, mode, 1);
}
int cublasGetPointerMode_v2(void* handle, int* mode) {
  return get("cublasGetPointerMode_v2", handle, &BlasHandle::pointer_mode, mode);
}
int cublasSetAtomicsMode(void* handle, int mode) {
  return set("cublasSetAtomicsMode", handle, &BlasHandle::atomics_mode, mode, 1);
}
int cublasGetAtomicsMode(void* handle, int* mode) {
  return get("cublasGetAtomicsMode", handle, &BlasHandle::atomics_mode, mode);
}

}  // namespace jitc::fakes

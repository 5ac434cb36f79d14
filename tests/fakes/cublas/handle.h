// A handle of the fake cuBLAS, and the frame around every exported function. The log line of a call that
// computes has the handle's state too, so that a test sees under which modes, stream and workspace it ran.
#pragma once
#include <unistd.h>

#include <initializer_list>
#include <memory>

#include "../common/call_log.h"
#include "../products/product.h"

namespace jitc::fakes {

enum BlasStatus : int {
  kBlasSuccess = 0,
  kBlasNotInitialized = 1,
  kBlasInvalidValue = 7,
  kBlasExecutionFailed = 13,
  kBlasNotSupported = 15,
};

struct BlasHandle {
  void* stream = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  int math_mode = 0, pointer_mode = 0, atomics_mode = 0;
  bool on_device() const { return pointer_mode == 1; }
};

struct BlasFailure {
  int code;
};

/// Throws kBlasNotInitialized.
BlasHandle& handle_of(void* handle);
void note_state(CallLine& line, const BlasHandle& handle);
/// A scalar argument under the handle's pointer mode: its value now, or its address.
Scalar scalar(CallLine& line, const char* name, const BlasHandle& handle, int type, const void* pointer);
/// Throws kBlasExecutionFailed when the driver refuses the work.
void submit(const BlasHandle& handle, std::function<void()> body);
/// The same for work that writes a result where the pointer mode says; waits when that is on the host.
void submit_result(const BlasHandle& handle, int type, void* result, std::function<double()> body);

template <class Body>
int blas_call(const char* name, std::initializer_list<Field> fields, Body&& body) {
  CallLine line("cublas", name);
  for (const Field& field : fields) line.add(field);
  int result = asked_failure(name);
  while (result == kHang) ::pause();
  try {
    if (!result) body(line);
  } catch (const BlasFailure& failure) {
    result = failure.code;
  }
  line.finish(result);
  return result;
}

}  // namespace jitc::fakes

// cuBLAS call that is sent to the worker unchanged: the op library_call, one slot per argument.
//
// Used by generated_blas_client.cpp only. Promises: a call with a wrong handle, a size out of its documented
// range, a missing scalar or a scalar of unknown type submits nothing and returns cuBLAS's status for it;
// scalars are read before the call returns (host pointer mode); a result for the host has arrived when it
// returns.
#pragma once
#include "api/call/call_arguments.h"
#include "api/generated/generated_blas_client.h"
#include "blas_handle.h"
#include "blas_types.h"

namespace jitc::api {

class BlasCall : public CallArguments<BlasCall> {
 public:
  BlasCall(uint64_t handle, const char* name, uint32_t function);

  /// Adds a number that cuBLAS refuses at once if it is negative, 0, or less than the rows of the matrix.
  BlasCall& count(int32_t value);
  BlasCall& increment(int32_t value);
  BlasCall& leading(int32_t value, int32_t rows);
  /// Adds alpha, beta and the like: the value or its address, by the pointer mode of the handle.
  BlasCall& scalar(const void* at, uint32_t bytes);
  /// Adds a result that the call computes, on the host or on the device by the same mode.
  BlasCall& result(void* at, uint32_t bytes);
  /// Adds a status that cuBLAS writes on the host before it returns; the worker reports a bad one as a fault.
  BlasCall& info(int32_t* at);
  Status submit();

 private:
  const char* name_;
  uint64_t handle_;
  uint32_t function_;
  Blas blas_;
  StreamRef stream_;
  void* host_ = nullptr;  // destination of the result, from scratch_
  uint64_t scratch_ = 0;
  uint32_t host_bytes_ = 0;
};

}  // namespace jitc::api

// Statuses of the API layer: the numbers of CUDA, NCCL and cuBLAS that it returns itself, the last error, and
// the last refusal.
//
// Included by everything in api/. Promise: a status of the service becomes a number that CUDA knows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "jitc/generated_errors.h"

namespace jitc::session {
class Session;
}

namespace jitc::api {

using Status = int32_t;

using namespace errors;  // cudaError_t
/// ncclResult_t.
inline constexpr Status kNcclUnhandledCudaError = 1, kNcclSystemError = 2, kNcclInternalError = 3,
                        kNcclInvalidArgument = 4, kNcclInvalidUsage = 5, kNcclRemoteError = 6;
/// cublasStatus_t.
inline constexpr Status kBlasNotInitialized = 1, kBlasAllocFailed = 3, kBlasInvalidValue = 7,
                        kBlasExecutionFailed = 13, kBlasInternalError = 14, kBlasNotSupported = 15;

/// Remembers an error for cudaGetLastError (not kNotReady, which is no error); returns it.
Status keep_error(Status status);
/// Remembers what the calling thread was refused, and why: the text of kNotSupported for it from now on.
void keep_refusal(const std::string& why);
/// Returns that text; nullptr: nothing was refused.
const char* last_refusal();
/// Returns a status of the service as the program may see it.
Status from_result(uint32_t status);
/// Reports once that the program has reached a limit (jitc/limits.h), returns the error.
Status too_many(const char* what, size_t most);

/// Returns why a submit gave no sequence: the session is over, or the op exceeded the protocol's limit.
Status not_submitted(const session::Session& session);
inline Status submitted(const session::Session& session, uint64_t sequence) {
  return sequence ? kSuccess : not_submitted(session);
}

}  // namespace jitc::api

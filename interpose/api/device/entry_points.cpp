// Driver functions and error texts by name and number: cuGetProcAddress, cudaGetDriverEntryPoint*.
//
// Promise: a program only ever gets functions of this library; a name that is not in the spec is "not found".
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "api/common/status.h"
#include "api/generated/generated_api.h"
#include "api/generated/generated_device.h"
#include "api/process/symbols.h"

namespace jitc::api {
namespace {

enum : int32_t { kFound = 0, kNoSuchSymbol = 1 };

void* exactly(std::string_view name) {
  const Symbol* end = kDriverSymbols + kDriverSymbolCount;
  const Symbol* at =
      std::lower_bound(kDriverSymbols, end, name,
                       [](const Symbol& symbol, std::string_view wanted) { return symbol.name < wanted; });
  return at != end && at->name == name ? at->address : nullptr;
}

/// Returns the newest function in that CUDA version (0: any): programs request it by a name without suffix.
void* newest(const std::string& name, uint32_t version) {
  constexpr uint32_t kWithEdges = 12030;  // the one function here whose arguments changed
  if (name == "cuStreamGetCaptureInfo" && version && version < kWithEdges) return exactly(name + "_v2");
  for (const char* suffix : {"_v4", "_v3", "_v2", ""})
    if (void* address = exactly(name + suffix)) return address;
  return nullptr;
}

const ErrorText* error_text(int32_t code) {
  for (const auto& error : kErrors)
    if (error.code == code) return &error;
  return nullptr;
}

}  // namespace

int32_t cuGetProcAddress_v2(const char* symbol, void** function, int32_t version, uint64_t, int32_t* status) {
  if (!symbol || !function) return kInvalidValue;
  *function = newest(symbol, static_cast<uint32_t>(version));
  if (status) *status = *function ? kFound : kNoSuchSymbol;
  return *function ? kSuccess : kSymbolNotFound;
}
int32_t cuGetProcAddress(const char* symbol, void** function, int32_t version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
int32_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, uint32_t version, uint64_t,
                                         int32_t* found) {
  if (!symbol || !function) return kInvalidValue;
  *function = newest(symbol, version);
  if (found) *found = *function ? kFound : kNoSuchSymbol;
  // If the caller gave no place for the answer, the status must report it.
  return *function || found ? kSuccess : kSymbolNotFound;
}
int32_t cudaGetDriverEntryPoint(const char* symbol, void** function, uint64_t flags, int32_t* found) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, found);
}

const char* cudaGetErrorName(int32_t code) {
  const ErrorText* error = error_text(code);
  return error ? error->runtime : "unrecognized error code";
}
/// Returns the error's text. After a refusal it adds subject and advice: PyTorch puts it into its exception.
const char* cudaGetErrorString(int32_t code) {
  if (code == kNotSupported && last_refusal()) return last_refusal();
  const ErrorText* error = error_text(code);
  return error ? error->text : "unrecognized error code";
}
int32_t cuGetErrorName(int32_t code, const char** text) {
  if (!text) return kInvalidValue;
  const ErrorText* error = error_text(code);
  *text = error && *error->driver ? error->driver : nullptr;
  return *text ? kSuccess : kInvalidValue;
}
int32_t cuGetErrorString(int32_t code, const char** text) {
  if (!text) return kInvalidValue;
  const ErrorText* error = error_text(code);
  *text = error && *error->driver ? cudaGetErrorString(code) : nullptr;
  return *text ? kSuccess : kInvalidValue;
}

}  // namespace jitc::api

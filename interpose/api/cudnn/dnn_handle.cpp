// Handles, versions and texts of cuDNN.
//
// Promise: if the service has no libcudnn, cudnnCreate fails and reports the reason once; so the program
// tries nothing else.
#include <dlfcn.h>

#include <array>
#include <cstring>
#include <string>

#include "api/common/handles.h"
#include "api/generated/generated_api.h"
#include "api/process/c_library.h"
#include "dnn_call.h"
#include "session/message.h"

namespace jitc::api {
namespace {

using Handles = HandleTable<DnnHandle, Kind::dnn>;
Handles& handles() {
  static auto& out = *new Handles;
  return out;
}

std::string& last_words() {
  thread_local auto& out = *new std::string;  // never destroyed: threads call at exit
  return out;
}

/// Returns the result of a function of the libcudnn that the program has loaded; 0 if it has loaded none.
size_t own(const char* name) {
  void* const library = dlopen("libcudnn.so.9", RTLD_LAZY | RTLD_NOLOAD);
  const auto function = library ? reinterpret_cast<size_t (*)()>(look_up(library, name)) : nullptr;
  const size_t found = function ? function() : 0;
  if (library) dlclose(library);
  return found;
}

std::string dotted(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void compare_versions(size_t service) {
  const size_t program = own("cudnnGetVersion");
  if (!program || program == service) return;
  session::message_once(
      "the service has cuDNN " + dotted(service) + ", the program " + dotted(program) +
      ": results are those of the service's; start it with --cudnn and the program's library "
      "to have the same");
}

}  // namespace

bool find_dnn(uint64_t handle, DnnHandle* out) { return handles().get(handle, out); }

Status dnn_stream(uint64_t handle, StreamRef* out) {
  DnnHandle dnn;
  if (!find_dnn(handle, &dnn)) return kDnnBadParam;
  *out = {dnn.session, 0, dnn.device};
  return !is_default_stream(dnn.stream) && resolve_stream(dnn.stream, out) ? kDnnBadParam : kSuccess;
}

Status dnn_failure(Status status, std::string_view text) {
  last_words().assign(text);
  return status;
}

int32_t cudnnCreate(uint64_t* handle) {
  if (!handle) return kDnnNullPointer;
  Status status = kSuccess;
  DnnHandle dnn;
  dnn.device = current_device();
  if (!(dnn.session = session_of(dnn.device, &status))) return kDnnNotInitialized;
  dnn.session->name_late_variables();
  uint64_t version = 0;
  if (!dnn_version(*dnn.session, &version)) return kDnnNotInitialized;
  compare_versions(version);
  *handle = handles().add(dnn);
  return kSuccess;
}
int32_t cudnnDestroy(uint64_t handle) {
  DnnHandle gone;
  return handles().remove(handle, &gone) ? kSuccess : kDnnBadParam;
}
int32_t cudnnSetStream(uint64_t handle, uint64_t stream) {
  StreamRef ref;
  DnnHandle dnn;
  if (!find_dnn(handle, &dnn) || (!is_default_stream(stream) && resolve_stream(stream, &ref)))
    return kDnnBadParam;
  if (ref.session && ref.session != dnn.session) return kDnnStreamMismatch;
  return handles().update(handle, [&](DnnHandle& one) { one.stream = stream; }) ? kSuccess : kDnnBadParam;
}
int32_t cudnnGetStream(uint64_t handle, uint64_t* stream) {
  DnnHandle dnn;
  if (!stream || !find_dnn(handle, &dnn)) return kDnnBadParam;
  *stream = dnn.stream;
  return kSuccess;
}

size_t cudnnGetVersion() {
  const int device = current_device();
  Status status = kSuccess;
  uint64_t version = 0;
  if (!has_session(device) || !runs_kernels()) return own("cudnnGetVersion");
  Session* session = session_of(device, &status);
  return session && dnn_version(*session, &version) ? version : own("cudnnGetVersion");
}
int32_t cudnnGetProperty(int32_t property, int32_t* value) {
  const std::array<size_t, 3> weights{10000, 100, 1};  // major, minor, patch
  if (!value || property < 0 || static_cast<size_t>(property) >= weights.size()) return kDnnBadParam;
  *value = static_cast<int32_t>(cudnnGetVersion() / weights[static_cast<size_t>(property)] % 100);
  return kSuccess;
}
size_t cudnnGetCudartVersion() { return own("cudnnGetCudartVersion"); }
const char* cudnnGetErrorString(int32_t status) { return ops::dnn_status_name(status); }
void cudnnGetLastErrorString(char* message, size_t size) {
  if (!message || !size) return;
  std::strncpy(message, last_words().c_str(), size - 1);
  message[size - 1] = 0;
}

}  // namespace jitc::api

// Kernels that a program compiled for the software device, in shared libraries (jitc/host_kernel.h).
//
// These are kernels of module images like all others. Promise: a kernel that is known on a device is found
// without a lock or request; nothing is ever destroyed, because another thread may call it.
#include <memory>

#include "api/common/guard.h"
#include "api/common/handles.h"
#include "jitc/host_kernel.h"
#include "kernels.h"

namespace jitc::api {
namespace {

Status open_kernel(const char* path, const char* name, uint64_t* kernel) {
  std::vector<std::byte> bytes;
  if (!name || !kernel) return kInvalidValue;
  if (runs_kernels()) return kNotSupported;
  if (const Status status = read_image(path, &bytes)) return status;
  auto image = std::make_unique<ModuleImage>(std::move(bytes));
  auto made = std::make_unique<Kernel>(*image, name);
  *kernel = new_handle(Kind::kernel);
  set_kernel(*kernel, made.release());
  (void)image.release();
  return kSuccess;
}

Status kernel_on(uint64_t kernel, int device, uint64_t* function) {
  Kernel* const known = known_kernel(kernel);
  if (!known || !function) return kInvalidResourceHandle;
  Status status = kSuccess;
  Session* const session = session_of(device, &status);
  if (!session) return status ? status : kNoDevice;
  const Function* const found = known->on(*session, device, &status);
  if (found) *function = found->handle;
  return status;
}

}  // namespace
}  // namespace jitc::api

extern "C" {

int jitc_host_kernel_open(const char* path, const char* name, uint64_t* kernel) {
  return jitc::api::guard_driver<false>([&] { return jitc::api::open_kernel(path, name, kernel); });
}

int jitc_host_kernel_on(uint64_t kernel, int device, uint64_t* function) {
  return jitc::api::guard_driver<true>([&] { return jitc::api::kernel_on(kernel, device, function); });
}
}

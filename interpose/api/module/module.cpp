// Modules of the driver API: loaded at the call, on the thread's device.
#include "module.h"

#include <map>
#include <memory>

#include "api/common/handles.h"
#include "api/common/settings.h"
#include "api/generated/generated_api.h"
#include "kernels.h"
#include "variables.h"

namespace jitc::api {
namespace {

struct Module {
  ModuleImage* image = nullptr;
  int device = 0;
};
using Modules = HandleTable<Module, Kind::module>;
Modules& modules() {
  static auto& out = *new Modules;
  return out;
}
struct OfLibraries {
  std::mutex mutex;
  std::map<std::pair<const ModuleImage*, int>, uint64_t> handles;
};
OfLibraries& of_libraries() {
  static auto& out = *new OfLibraries;
  return out;
}

Status load(uint64_t* handle, const void* image) {
  Status status = kSuccess;
  if (!handle || !image) return kInvalidValue;
  Session* session = current_session(&status);
  if (!session) return status;
  auto made = std::make_unique<ModuleImage>(image_at(image), current_device());
  if (!made->module_on(*session, current_device(), &status)) return status;
  *handle = modules().add({made.release(), current_device()});  // never destroyed, see module_image.h
  return kSuccess;
}

}  // namespace

int32_t cuModuleLoadData(uint64_t* module, const void* image) { return load(module, image); }
int32_t cuModuleLoadDataEx(uint64_t* module, const void* image, uint32_t count, int32_t* options,
                           void** values) {
  if (image) answer_jit_options("cuModuleLoadDataEx", image_at(image), count, options, values);
  return load(module, image);
}
int32_t cuModuleLoad(uint64_t* module, const char* path) {
  std::vector<std::byte> image;
  const Status status = read_image(path, &image);
  return status ? status : load(module, image.data());
}
int32_t cuModuleUnload(uint64_t module) {
  Module gone;
  // A library's module ends with its library.
  if (!modules().get(module, &gone) || gone.image->only() == ModuleImage::kAnyDevice)
    return kInvalidResourceHandle;
  if (!modules().remove(module, &gone)) return kInvalidResourceHandle;
  forget_kernels(*gone.image);
  forget_variables(*gone.image);
  gone.image->unload();
  return kSuccess;
}

int32_t cuModuleGetFunction(uint64_t* kernel, uint64_t module, const char* name) {
  Module found;
  if (!kernel || !name) return kInvalidValue;
  if (!modules().get(module, &found)) return kInvalidResourceHandle;
  return get_kernel(*found.image, name, found.device, kernel);
}
int32_t cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, uint64_t module, const char* name) {
  Module found;
  if (!name) return kInvalidValue;
  if (!modules().get(module, &found)) return kInvalidResourceHandle;
  return get_variable(*found.image, name, found.device, address, bytes);
}
int32_t cuModuleGetLoadingMode(int32_t* mode) {
  if (!mode) return kInvalidValue;
  *mode = 2;  // lazy
  return kSuccess;
}

uint64_t library_module(ModuleImage& image, int device) {
  const std::lock_guard lock(of_libraries().mutex);
  uint64_t& handle = of_libraries().handles[{&image, device}];
  if (!handle) handle = modules().add({&image, device});
  return handle;
}
void forget_library_modules(const ModuleImage& image) {
  const std::lock_guard lock(of_libraries().mutex);
  auto& handles = of_libraries().handles;
  auto one = handles.lower_bound({&image, 0});
  while (one != handles.end() && one->first.first == &image) {
    Module gone;
    modules().remove(one->second, &gone);
    one = handles.erase(one);
  }
}

}  // namespace jitc::api

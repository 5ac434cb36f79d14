// Libraries: module images that belong to no device and are loaded at their place of use.
#include "api/common/handles.h"
#include "api/common/settings.h"
#include "api/generated/generated_api.h"
#include "kernels.h"
#include "module.h"
#include "variables.h"

namespace jitc::api {
namespace {

struct Library {
  ModuleImage* image = nullptr;
};
using Libraries = HandleTable<Library, Kind::library>;
Libraries& libraries() {
  static auto& out = *new Libraries;
  return out;
}

Status add(uint64_t* handle, std::vector<std::byte> image) {
  *handle = libraries().add({new ModuleImage(std::move(image))});  // never destroyed, see module_image.h
  return kSuccess;
}

}  // namespace

int32_t cuLibraryLoadData(uint64_t* library, const void* image, int32_t* options, void** values,
                          uint32_t count, int32_t*, void**, uint32_t) {
  if (!library || !image) return kInvalidValue;
  const auto bytes = image_at(image);
  answer_jit_options("cuLibraryLoadData", bytes, count, options, values);
  return bytes.empty() ? kInvalidKernelImage : add(library, {bytes.begin(), bytes.end()});
}
int32_t cuLibraryLoadFromFile(uint64_t* library, const char* path, int32_t* options, void** values,
                              uint32_t count, int32_t*, void**, uint32_t) {
  if (!library) return kInvalidValue;
  std::vector<std::byte> image;
  const Status status = read_image(path, &image);
  answer_jit_options("cuLibraryLoadFromFile", image, count, options, values);
  return status ? status : add(library, std::move(image));
}
int32_t cuLibraryUnload(uint64_t library) {
  Library gone;
  if (!libraries().remove(library, &gone)) return kInvalidResourceHandle;
  forget_library_modules(*gone.image);
  forget_kernels(*gone.image);
  forget_variables(*gone.image);
  gone.image->unload();
  return kSuccess;
}

int32_t cuLibraryGetKernel(uint64_t* kernel, uint64_t library, const char* name) {
  Library found;
  if (!kernel || !name) return kInvalidValue;
  if (!libraries().get(library, &found)) return kInvalidResourceHandle;
  return get_kernel(*found.image, name, current_device(), kernel);
}
int32_t cuLibraryGetModule(uint64_t* module, uint64_t library) {
  Library found;
  Status status = kSuccess;
  if (!module) return kInvalidValue;
  if (!libraries().get(library, &found)) return kInvalidResourceHandle;
  Session* session = current_session(&status);
  if (!session || !found.image->module_on(*session, current_device(), &status)) return status;
  *module = library_module(*found.image, current_device());
  return kSuccess;
}
int32_t cuLibraryGetGlobal(uint64_t* address, size_t* bytes, uint64_t library, const char* name) {
  Library found;
  if (!name) return kInvalidValue;
  if (!libraries().get(library, &found)) return kInvalidResourceHandle;
  return get_variable(*found.image, name, current_device(), address, bytes);
}

}  // namespace jitc::api

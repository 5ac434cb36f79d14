// See nvrtc.h.
#include "nvrtc.h"

#include <dlfcn.h>

#include <filesystem>

namespace jitc::cuda {
namespace {

template <class Function>
void find(void* library, const std::string& path, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw NvrtcError(path + " has no function " + name);
}

const char* name_of(NvrtcStatus status) {
  static constexpr const char* kNames[] = {
      "success",         "out of memory",  "program creation failed", "invalid input",
      "invalid program", "invalid option", "compilation failed",      "builtin operation failed",
  };
  return status > 0 && static_cast<size_t>(status) < std::size(kNames) ? kNames[status] : "unknown status";
}

}  // namespace

std::shared_ptr<const Nvrtc> Nvrtc::open(const std::string& path) {
  if (path.empty()) throw NvrtcError("there is no libnvrtc (pip install nvidia-cuda-nvrtc, or --nvrtc PATH)");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw NvrtcError(std::string("cannot open libnvrtc: ") + dlerror());
  const auto made = std::make_shared<Nvrtc>();
#define JITC_NVRTC_FIND(function, parameters) find(library, path, #function, made->function);
  JITC_NVRTC(JITC_NVRTC_FIND)
#undef JITC_NVRTC_FIND
  made->open_builtins(path);
  return made;
}

/// Loads a second library that NVRTC asks the loader for by name and does not find beside it in a wheel's
/// folder; a loaded one is used.
void Nvrtc::open_builtins(const std::string& path) const {
  int32_t major = 0, minor = 0;
  check("nvrtcVersion", nvrtcVersion(&major, &minor));
  const std::string name = "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
  const auto beside = std::filesystem::path(path).replace_filename(name);
  if (beside.is_absolute()) dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void Nvrtc::check(const char* what, NvrtcStatus status, const std::string& more) const {
  if (status == 0) return;
  throw NvrtcError(std::string(what) + ": " + name_of(status) + " (" + std::to_string(status) + ")" +
                   (more.empty() ? "" : ": " + more));
}

}  // namespace jitc::cuda

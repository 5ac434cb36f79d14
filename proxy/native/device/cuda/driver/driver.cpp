// See driver.h.
#include "driver.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

namespace jitc::cuda {
namespace {

template <class Function>
bool find(void* library, const char* symbol, Function& function) {
  void* const found = dlsym(library, symbol);
  function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::shared_ptr<const Driver> Driver::open(const std::string& path, std::string& error) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::shared_ptr<const Driver>>;  // never closed
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(path); found != known.end()) return found->second;
  const auto driver = std::make_shared<Driver>();
  if (!driver->load(path, error)) return nullptr;
  return known[path] = driver;
}

bool Driver::load(const std::string& path, std::string& error) {
  if (path.empty()) return error = "no CUDA driver library is given", false;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return error = std::string("cannot open the CUDA driver: ") + dlerror(), false;
  const char* missing = nullptr;
#define JITC_CUDA_FIND(function, symbol, parameters) \
  if (!find(library, symbol, function) && !missing) missing = symbol;
  JITC_CUDA_DRIVER(JITC_CUDA_FIND)
#undef JITC_CUDA_FIND
#define JITC_CUDA_FIND(function, symbol, parameters) find(library, symbol, function);
  JITC_CUDA_DRIVER_OPTIONAL(JITC_CUDA_FIND)
#undef JITC_CUDA_FIND
  if (cuDriverGetVersion) cuDriverGetVersion(&version_);
  if (missing) {
    error = "the CUDA driver " + path + " (version " + version_text(version_) + ") has no function " +
            missing + ": a newer driver is needed";
    return false;
  }
  if (const auto status = cuInit(0)) return error = "cuInit: " + describe(status), false;
  return true;
}

std::string Driver::describe(abi::CUresult status) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(status, &name) != 0 || !name) name = "unknown error";
  if (cuGetErrorString(status, &text) != 0 || !text) text = "no description";
  return std::string(name) + " (" + std::to_string(status) + "): " + text;
}

}  // namespace jitc::cuda

// Opens NVIDIA's libraries by path: once per process, never closed; a missing symbol is refused with its
// name.
//
// Included by blas_library.cpp and dnn_library.cpp only. All throw OpError.
#pragma once
#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "error.h"

namespace jitc::cuda {

/// Returns the library of a path, made once per process by make(path).
template <class Library, class Make>
std::shared_ptr<const Library> known(const std::string& path, Make&& make) {
  static std::mutex mutex;
  static auto& all = *new std::map<std::string, std::shared_ptr<const Library>>;  // never closed
  const std::lock_guard lock(mutex);
  auto& library = all[path];
  if (!library) library = make();
  return library;
}

inline void* load(const char* name, const std::string& path) {
  if (path.empty()) refuse(kNotSupported, "no-library", std::string("this service has no ") + name);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) refuse(kNotSupported, "no-library", std::string("cannot open ") + name + ": " + dlerror());
  return library;
}

template <class Function>
void find(void* library, const std::string& path, const std::string& name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name.c_str()));
  if (!function) refuse(kNotSupported, "no-library", path + " has no function " + name);
}

/// Makes the loader use this file when another library asks for it by name; does nothing for an empty path.
inline void load_beside(const std::string& path) {
  if (!path.empty()) dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace jitc::cuda

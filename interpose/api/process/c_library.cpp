// See c_library.h.
#include "c_library.h"

#include <dlfcn.h>

#include <atomic>
#include <span>

#include "symbols.h"

namespace jitc::api {
namespace {

#if defined(__x86_64__)
constexpr const char* kOldest = "GLIBC_2.2.5";
#else
constexpr const char* kOldest = "GLIBC_2.17";
#endif

template <class Function>
Function of_c_library(std::atomic<Function>& known, const char* name) {
  Function function = known.load(std::memory_order_relaxed);
  if (!function) {
    function = reinterpret_cast<Function>(dlvsym(RTLD_DEFAULT, name, kOldest));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}
std::atomic<Open> known_open{nullptr};
std::atomic<Find> known_find{nullptr};

/// Returns whether the file is a copy of the library, of any version: "libnccl.so.2", "libnccl-8f3a.so.2".
bool is_file_of(std::string_view file, std::string_view library) {
  if (!file.starts_with(library) || file.size() == library.size()) return false;
  const char next = file[library.size()];
  return (next == '.' || next == '-') && file.find(".so", library.size()) != file.npos;
}
}  // namespace

Open real_open() { return of_c_library(known_open, "dlopen"); }
Find real_find() { return of_c_library(known_find, "dlsym"); }

void* look_up(void* library, const char* name) { return real_find()(library, name); }

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

std::string_view replaced_library(const void* address) {
  Dl_info found{};
  if (!address || !dladdr(address, &found) || !found.dli_fname) return {};
  const std::string_view file = file_of(found.dli_fname);
  for (const char* library : std::span(kServedLibraries, kServedLibraryCount))
    if (is_file_of(file, library)) return file;
  return {};
}

}  // namespace jitc::api

// See loader.h. NVIDIA's libraries are loaded where a program loads them, and not replaced: others (PyTorch,
// cuDNN) need them under their names. Only the driver's library has another in its place, which has its name.
#include "loader.h"

#include <dlfcn.h>

#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "api/common/guard.h"
#include "api/common/symbols.h"
#include "pytorch.h"
#include "session/message.h"

// The C library tells callers apart by the address that it returns to. So what is not ours must go on there
// by a jump: the compiler makes a call whose result is returned into one, in every build.
#define JITC_PASSES_ON extern "C" __attribute__((visibility("default"), optimize("O2"), noinline))

namespace jitc::api {
namespace {

#if defined(__x86_64__)
constexpr const char* kOldest = "GLIBC_2.2.5";
#else
constexpr const char* kOldest = "GLIBC_2.17";
#endif
constexpr const char* kOurName = "libcuda.so.1";

using Open = void* (*)(const char*, int) noexcept;
using Find = void* (*)(void*, const char*) noexcept;

/// The C library's function. It is asked for with its version, which ours of the same name do not have.
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
Open real_open() { return of_c_library(known_open, "dlopen"); }
Find real_find() { return of_c_library(known_find, "dlsym"); }

/// Without its folder.
std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

/// Whether the file is a copy of the library, under whatever version: "libnccl.so.2", "libnccl-8f3a.so.2".
bool is_file_of(std::string_view file, std::string_view library) {
  if (!file.starts_with(library) || file.size() == library.size()) return false;
  const char next = file[library.size()];
  return (next == '.' || next == '-') && file.find(".so", library.size()) != file.npos;
}

/// Whether a function of that name could be one that we serve, or refuse.
bool may_be_ours(std::string_view name) {
  return name.starts_with("cu") || name.starts_with("nccl") || name.starts_with("pnccl") ||
         name.starts_with("__cuda") || name.starts_with("nvshmem");
}

/// Python looks this function up in an extension module called _C, which is what PyTorch calls its own.
bool is_pytorchs_start(std::string_view name) { return name == "PyInit__C"; }

/// Our function of that name. NCCL has each of its functions under a second name, for profilers.
void* ours(const char* name) {
  static void* const self = real_open()(kOurName, RTLD_LAZY | RTLD_NOLOAD);
  return self ? real_find()(self, *name == 'p' ? name + 1 : name) : nullptr;
}

/// What a library gives a program that looks into it.
void* found_in(void* library, const char* name) {
  void* const found = real_find()(library, name);
  if (found && unserved_library(found)) {
    void* const refusing = ours(name);  // where a program begins with that library
    return refusing ? refusing : found;
  }
  const std::string_view file = found ? replaced_library(found) : std::string_view();
  if (file.empty()) return found;
  void* const served = ours(name);
  if (!served)
    session::message_once(std::string(name) + " of " + std::string(file) +
                          " is not served: the program is told that it is not there (docs/coverage.md)");
  return served;
}

void* found_or_nothing(void* library, const char* name) noexcept {
  try {
    return found_in(library, name);
  } catch (...) {
    return nullptr;  // out of memory
  }
}

/// The file to open: us, where a program names the driver by its path, or as a linker would.
const char* file_to_open(const char* file) {
  if (!file) return file;
  const std::string_view name = file_of(file);
  return name == "libcuda.so" || name == kOurName ? kOurName : file;
}

}  // namespace

void* look_up(void* library, const char* name) { return real_find()(library, name); }

std::string_view replaced_library(const void* address) {
  Dl_info found{};
  if (!address || !dladdr(address, &found) || !found.dli_fname) return {};
  const std::string_view file = file_of(found.dli_fname);
  for (const char* library : std::span(kServedLibraries, kServedLibraryCount))
    if (is_file_of(file, library)) return file;
  return {};
}

}  // namespace jitc::api

using namespace jitc::api;

JITC_PASSES_ON void* dlopen(const char* file, int mode) noexcept {
  return real_open()(file_to_open(file), mode);
}

JITC_PASSES_ON void* dlsym(void* __restrict library, const char* __restrict name) noexcept {
  const bool by_caller = library == RTLD_DEFAULT || library == RTLD_NEXT;
  if (!by_caller && may_be_ours(name)) return found_or_nothing(library, name);
  if (is_pytorchs_start(name)) pytorch_may_come();
  return real_find()(library, name);
}

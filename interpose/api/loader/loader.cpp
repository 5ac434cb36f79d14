// Loader functions: the result when a program opens NVIDIA's libraries itself and looks up functions by name.
//
// Called by: programs and libraries (dlopen, dlsym). Promises: in any library, a function that we serve is
// ours, and one that NVIDIA's library has beyond that is not found, with a line on stderr; a program's first
// function of a library that is not served is ours as well, and refuses; the C library answers every other
// look-up as if we were absent, also if the answer depends on the caller (RTLD_NEXT, RTLD_DEFAULT,
// DT_RUNPATH, $ORIGIN). Nothing is opened or allocated for look-ups that do not concern us.
//
// A program loads NVIDIA's libraries as usual, and they are not replaced: others (PyTorch, cuDNN) need them
// under their names. Only the driver's library has a replacement, under its name.

#include <dlfcn.h>

#include <string>
#include <string_view>

#include "api/common/guard.h"
#include "api/process/c_library.h"
#include "api/process/pytorch.h"
#include "session/message.h"

// The C library identifies callers by the return address. So a look-up that is not ours must continue there
// by a jump: the compiler turns a call whose result is returned into one, in every build.
#define JITC_PASSES_ON extern "C" __attribute__((visibility("default"), optimize("O2"), noinline))

namespace jitc::api {
namespace {

constexpr const char* kOurName = "libcuda.so.1";

/// Returns whether a function of that name could be one that we serve, or refuse.
bool may_be_ours(std::string_view name) {
  return name.starts_with("cu") || name.starts_with("nccl") || name.starts_with("pnccl") ||
         name.starts_with("__cuda") || name.starts_with("nvshmem");
}

/// Returns whether the name is PyTorch's start: Python looks it up in an extension module called _C.
bool is_pytorchs_start(std::string_view name) { return name == "PyInit__C"; }

/// Returns our function of that name. NCCL has each of its functions under a second name, for profilers.
void* ours(const char* name) {
  static void* const self = real_open()(kOurName, RTLD_LAZY | RTLD_NOLOAD);
  return self ? real_find()(self, *name == 'p' ? name + 1 : name) : nullptr;
}

/// Returns a library's function for a program that looks into it.
void* found_in(void* library, const char* name) {
  void* const found = real_find()(library, name);
  if (found && unserved_library(found)) {
    void* const refusing = ours(name);  // first function that a program uses of that library
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

/// Returns the file to open: ours, if a program names the driver by its path, or as a linker would.
const char* file_to_open(const char* file) {
  if (!file) return file;
  const std::string_view name = file_of(file);
  return name == "libcuda.so" || name == kOurName ? kOurName : file;
}

}  // namespace

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

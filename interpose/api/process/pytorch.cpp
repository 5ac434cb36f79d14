// See pytorch.h.
#include "pytorch.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <string_view>
#include <type_traits>

#include "c_library.h"
#include "session/message.h"

namespace jitc::api {
namespace {

constexpr const char* kVariable = "TORCH_DEVICE_BACKEND_AUTOLOAD";
std::atomic<bool> steps_expected{false};

using Object = void*;  // one of Python's own types, used through its functions only

/// Functions of the interpreter that are needed: documented C functions.
struct Python {
  int (*has_gil)();
  Object (*pending_error)();  // borrowed
  Object (*import)(const char* name);
  Object (*method)(Object object, const char* name, const char* format, ...);
  void (*release)(Object object);
  void (*clear_error)();

  bool load() {
    const auto find = [](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(look_up(RTLD_DEFAULT, name));
      return function != nullptr;
    };
    return find(has_gil, "PyGILState_Check") && find(pending_error, "PyErr_Occurred") &&
           find(import, "PyImport_ImportModule") && find(method, "PyObject_CallMethod") &&
           find(release, "Py_DecRef") && find(clear_error, "PyErr_Clear");
  }
};

/// Returns whether the program has forbidden PyTorch to load what is registered with it.
bool entry_points_are_off() {
  const char* const set = ::secure_getenv(kVariable);
  return set && std::string_view(set) != "1";
}

bool is_loaded(const char* library) {
  void* const found = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (found) dlclose(found);
  return found != nullptr;
}

}  // namespace

/// Does nothing without package jitc in this Python: tell_without_steps() reports that when it matters.
void pytorch_may_come() noexcept {
  Python python;
  if (!entry_points_are_off() || !python.load() || !python.has_gil() || python.pending_error()) return;
  const Object shim = python.import("jitc.client_shim.without_entry_point");
  const Object done = shim ? python.method(shim, "load_after_import", nullptr) : nullptr;
  if (!done) python.clear_error();
  if (done) python.release(done);
  if (shim) python.release(shim);
}

void expect_steps() { steps_expected.store(true, std::memory_order_relaxed); }

std::string why_without_shim() {
  if (steps_expected.load(std::memory_order_relaxed)) return {};
  if (!look_up(RTLD_DEFAULT, "Py_IsInitialized"))
    return "there is no Python here: call jitc_step_begin and jitc_step_end around each step "
           "(jitc/client_api.h)";
  return "this Python does not have it: install jitc beside PyTorch (pip install jitc), or call "
         "jitc_step_begin and "
         "jitc_step_end around each step";
}

void tell_without_steps() {
  const std::string why = why_without_shim();
  if (why.empty() || !is_loaded("libtorch_cuda.so")) return;
  session::message_once(
      "PyTorch is used without jitc's client_shim, so its optimizer steps are not seen: a fault of a GPU "
      "replays this "
      "program's work there from the beginning, and ends the program when its journal is full by then; " +
      why);
}

}  // namespace jitc::api

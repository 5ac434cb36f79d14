#include "python_stack.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

namespace jitc::torch_device {
namespace {

using Object = void*;  // of Python's own types, which are used through its functions alone

/// The functions used of the interpreter: its documented C functions, Python 3.10 and later.
struct Python {
  int (*is_initialized)();
  Object (*thread_of_this)();
  int (*take_gil)();
  void (*give_gil)(int);
  Object (*frame_of)(Object thread);
  Object (*frame_back)(Object frame);
  Object (*frame_code)(Object frame);
  int (*frame_line)(Object frame);
  Object (*attribute)(Object object, const char* name);
  const char* (*text)(Object string);
  void (*release)(Object object);
  void (*clear_error)();
  void (*retain)(Object object);
  Object (*system_object)(const char* name);  // borrowed
  Object (*call)(Object function);
  int (*next_item)(Object dictionary, ssize_t* at, Object* key, Object* value);
  int (*is_ending)();  // may be missing

  bool load() {
    const auto find = [](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
      return function != nullptr;
    };
    if (!find(is_ending, "Py_IsFinalizing")) find(is_ending, "_Py_IsFinalizing");
    return find(is_initialized, "Py_IsInitialized") &&
           find(thread_of_this, "PyGILState_GetThisThreadState") && find(take_gil, "PyGILState_Ensure") &&
           find(give_gil, "PyGILState_Release") && find(frame_of, "PyThreadState_GetFrame") &&
           find(frame_back, "PyFrame_GetBack") && find(frame_code, "PyFrame_GetCode") &&
           find(frame_line, "PyFrame_GetLineNumber") && find(attribute, "PyObject_GetAttrString") &&
           find(text, "PyUnicode_AsUTF8") && find(release, "Py_DecRef") && find(clear_error, "PyErr_Clear") &&
           find(retain, "Py_IncRef") && find(system_object, "PySys_GetObject") &&
           find(call, "PyObject_CallNoArgs") && find(next_item, "PyDict_Next");
  }
};
Python python;

/// Scope in which the calling thread has the GIL.
class Gil {
 public:
  Gil() : state_(python.take_gil()) {}
  ~Gil() { python.give_gil(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  const int state_;
};

/// A reference owned by this object.
class Reference {
 public:
  explicit Reference(Object object) : object_(object) {}
  Reference(Reference&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() {
    if (object_) python.release(object_);
  }
  Object get() const { return object_; }
  Object keep() {
    const Object kept = object_;
    object_ = nullptr;
    return kept;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Object object_;
};

std::string attribute_text(Object object, const char* name) {
  const Reference value(python.attribute(object, name));
  const char* const text = value ? python.text(value.get()) : nullptr;
  if (!text) python.clear_error();
  return text ? text : "?";
}

/// Returns whether a file's frames of PyTorch, between the operator and its caller, are of no interest.
bool is_wrapper(const std::string& file) {
  constexpr std::array kWrappers{
      "/_ops.py",    "/utils/_contextlib.py", "/distributed/c10d_logger.py", "/nn/modules/module.py",
      "/_tensor.py", "/autograd/__init__.py", "/autograd/graph.py",          "/_dynamo/eval_frame.py"};
  return std::any_of(kWrappers.begin(), kWrappers.end(),
                     [&](const char* one) { return file.ends_with(one); });
}

constexpr size_t kInTorch = 3;  // lines inside PyTorch
/// Limits on functions, which are never freed, and places, of a program that makes them without end.
constexpr size_t kMostCodes = 100'000, kMostPlaces = 100'000;
const std::string kNothing;

}  // namespace

const std::string& PythonStack::unknown() {
  static const auto& text = *new std::string("(the program has been at more places than are remembered)\n");
  return text;
}

struct PythonStack::Code {
  enum class Kind { program, library, torch, wrapper, hidden } kind;
  std::string file, name;
};

/// Frames worth a line, innermost first.
struct PythonStack::Walk {
  std::vector<std::pair<const Code*, int>> frames;
  bool program = false;  // it has reached a line of the program itself
  bool whole = true;     // false: it has met unknown code
};

PythonStack::PythonStack(std::string torch, std::string libraries)
    : torch_(std::move(torch)), libraries_(std::move(libraries)), usable_(python.load()) {}

/// Returns the code of a frame. Known codes are never freed, so that none can come at the address of another.
/// Null: there are too many.
const PythonStack::Code* PythonStack::code_of(Object frame) {
  static auto& known = *new std::unordered_map<Object, Code>;
  Reference code(python.frame_code(frame));
  if (const auto found = known.find(code.get()); found != known.end()) return &found->second;
  if (known.size() >= kMostCodes) return nullptr;
  Code made{Code::Kind::program, attribute_text(code.get(), "co_filename"),
            attribute_text(code.get(), "co_name")};
  const std::string& file = made.file;
  if (file.starts_with("<frozen") || file.find("/client_shim/") != file.npos)
    made.kind = Code::Kind::hidden;
  else if (file.starts_with(torch_))
    made.kind = is_wrapper(file) ? Code::Kind::wrapper : Code::Kind::torch;
  else if (file.starts_with(libraries_))
    made.kind = Code::Kind::library;
  if (made.file.starts_with(libraries_)) made.file = made.file.substr(libraries_.size());
  return &known.emplace(code.keep(), std::move(made)).first->second;
}

/// Walks the frames from `top`, a reference which it releases.
void PythonStack::walk(Object top, Walk& walk) {
  size_t in_torch = 0, in_libraries = 0;
  for (Reference frame(top); frame && !walk.program; frame = Reference(python.frame_back(frame.get()))) {
    const Code* const code = code_of(frame.get());
    if (!code) {
      walk.whole = false;
      return;
    }
    if (code->kind == Code::Kind::hidden || code->kind == Code::Kind::wrapper) continue;
    if (code->kind == Code::Kind::torch && in_torch++ >= kInTorch) continue;
    if (code->kind == Code::Kind::library && in_libraries++ >= 1) continue;
    walk.program = code->kind == Code::Kind::program;
    walk.frames.emplace_back(code, python.frame_line(frame.get()));
  }
}

const std::string& PythonStack::text_of(const Walk& walk, const std::string& begun_by) {
  static auto& known = *new std::map<std::pair<decltype(Walk::frames), std::string>, std::string>;
  if (!walk.whole) return unknown();
  const std::pair key(walk.frames, begun_by);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  if (known.size() >= kMostPlaces) return unknown();
  std::string& text = known[key];
  text = begun_by;
  for (auto frame = walk.frames.rbegin(); frame != walk.frames.rend(); ++frame)
    text += frame->first->file + ':' + std::to_string(frame->second) + " in " + frame->first->name + '\n';
  return text;
}

/// Returns the line of the program that began this backward pass: that of a thread that waits in the engine.
/// The engine has no other record of it. The interpreter is asked for the frames: its list of threads has
/// some that begin at this moment without the GIL, and are not complete.
std::string PythonStack::begun_by() {
  const Object ask = python.system_object("_current_frames");
  const Reference frames(ask ? python.call(ask) : nullptr);
  if (!frames) return python.clear_error(), std::string();
  Object top = nullptr;
  for (ssize_t at = 0; python.next_item(frames.get(), &at, nullptr, &top) != 0;) {
    const Code* const innermost = code_of(top);
    if (!innermost || innermost->name != "_engine_run_backward") continue;
    python.retain(top);
    Walk found;
    walk(top, found);
    if (!found.program) continue;
    const auto [code, line] = found.frames.back();
    return code->file + ':' + std::to_string(line) + " in " + code->name + ", backward\n";
  }
  return {};
}

const std::string& PythonStack::lines(int backward) {
  if (!usable_ || !python.is_initialized() || (python.is_ending && python.is_ending())) return kNothing;
  const Object thread = python.thread_of_this();
  if (!thread) return kNothing;
  const Gil gil;
  Walk found;
  walk(python.frame_of(thread), found);
  if (found.program || backward < 0) return text_of(found, {});
  thread_local int known = -1;
  thread_local std::string begun;
  if (known != backward) {
    known = backward;
    begun = begun_by();
  }
  return text_of(found, begun);
}

}  // namespace jitc::torch_device

// The fake NVRTC. See README.md.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>

#include "../common/call_log.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
constexpr int kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6;

struct Program {
  std::string source, image, log;
  std::set<std::string> headers;
};

struct Failed {
  int status;
};

template <class Body>
int call(const char* name, std::initializer_list<Field> fields, Body&& body) {
  CallLine line("nvrtc", name);
  for (const Field& field : fields) line.add(field);
  int status = asked_failure(name);
  try {
    if (status == 0) body(line);
  } catch (const Failed& failure) {
    status = failure.status;
  }
  line.finish(status);
  return status;
}

Program& program_of(void* handle) {
  if (!handle) throw Failed{kInvalidProgram};
  return *static_cast<Program*>(handle);
}

void fail(Program& program, const std::string& text) {
  program.log = text + "\nthe second line";
  throw Failed{kCompilation};
}

// Without std::regex, which does not build with sanitizers and every warning on.

bool is_known(std::string_view option) {
  constexpr std::string_view kArchitecture = "--gpu-architecture=sm_";
  if (option == "--std=c++17" || option == "--device-as-default-execution-space") return true;
  return option.starts_with(kArchitecture) && option.size() > kArchitecture.size() &&
         option.find_first_not_of("0123456789", kArchitecture.size()) == option.npos;
}

void check_options(int count, const char* const* options) {
  if (count == 0 || !std::all_of(options, options + count, is_known)) throw Failed{kInvalidOption};
}

void check_headers(Program& program) {
  constexpr std::string_view kInclude = "#include \"";
  const std::string& text = program.source;
  for (size_t at = text.find(kInclude); at != text.npos; at = text.find(kInclude, at)) {
    at += kInclude.size();
    const std::string name = text.substr(at, text.find('"', at) - at);
    if (!program.headers.contains(name)) fail(program, "cannot open source file " + name);
  }
}

/// The name that stands before a kernel's parameters: none, or some that begin with a constant one.
std::string kernel_at(const std::string& text, size_t global) {
  const size_t end = std::min(text.find("(const ", global), text.find("()", global));
  if (end == text.npos) return {};
  size_t start = end;
  while (std::isalnum(static_cast<unsigned char>(text[start - 1])) || text[start - 1] == '_') --start;
  return text.substr(start, end - start);
}

void compile(Program& program) {
  constexpr std::string_view kGlobal = "__global__";
  const std::string& text = program.source;
  check_headers(program);
  program.image = "JITCFAKE 1\n";
  for (size_t at = text.find(kGlobal); at != text.npos; at = text.find(kGlobal, at + kGlobal.size()))
    program.image += "kernel " + kernel_at(text, at) + "\n";
  program.image += '\0';
}

int give_size(const char* name, void* handle, size_t* size, std::string Program::* text, size_t more) {
  return call(name, {}, [&](CallLine&) {
    if (!size) throw Failed{kInvalidInput};
    *size = (program_of(handle).*text).size() + more;
  });
}

int give(const char* name, void* handle, char* out, std::string Program::* text, size_t more) {
  return call(name, {}, [&](CallLine&) {
    const std::string& from = program_of(handle).*text;
    std::memcpy(out, from.c_str(), from.size() + more);
  });
}
}  // namespace

int nvrtcVersion(int* major, int* minor) {
  return call("nvrtcVersion", {}, [&](CallLine&) {
    *major = 13;
    *minor = 0;
  });
}

int nvrtcCreateProgram(void** out, const char* source, const char* name, int count,
                       const char* const* headers, const char* const* names) {
  return call("nvrtcCreateProgram", {Field::text("name", name)}, [&](CallLine& line) {
    if (!out || !source || (count && (!headers || !names))) throw Failed{kInvalidInput};
    *out = new Program{source, {}, {}, {names, names + count}};
    line.add(Field::address("out", *out));
  });
}

int nvrtcDestroyProgram(void** program) {
  return call("nvrtcDestroyProgram", {Field::address("program", program ? *program : nullptr)},
              [&](CallLine&) {
                delete &program_of(program ? *program : nullptr);
                *program = nullptr;
              });
}

int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
  return call("nvrtcCompileProgram", {Field::text("option", count ? options[0] : "")}, [&](CallLine&) {
    check_options(count, options);
    compile(program_of(handle));
  });
}

int nvrtcGetCUBINSize(void* handle, size_t* size) {
  return give_size("nvrtcGetCUBINSize", handle, size, &Program::image, 0);
}
int nvrtcGetCUBIN(void* handle, char* out) { return give("nvrtcGetCUBIN", handle, out, &Program::image, 0); }
int nvrtcGetProgramLogSize(void* handle, size_t* size) {
  return give_size("nvrtcGetProgramLogSize", handle, size, &Program::log, 1);
}
int nvrtcGetProgramLog(void* handle, char* out) {
  return give("nvrtcGetProgramLog", handle, out, &Program::log, 1);
}

}  // namespace jitc::fakes

// The fake NVRTC. See README.md.
#include <algorithm>
#include <cstring>
#include <memory>
#include <regex>
#include <set>

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

void check_options(int count, const char* const* options) {
  static const std::regex known(
      "--gpu-architecture=sm_[0-9]+|--std=c\\+\\+17|--device-as-default-execution-space");
  if (count == 0 ||
      !std::all_of(options, options + count, [](auto one) { return std::regex_match(one, known); }))
    throw Failed{kInvalidOption};
}

void check_headers(Program& program) {
  static const std::regex included("#include \"([^\"]+)\"");
  for (std::sregex_iterator at(program.source.begin(), program.source.end(), included), end; at != end; ++at)
    if (!program.headers.contains((*at)[1])) fail(program, "cannot open source file " + (*at)[1].str());
}

void compile(Program& program) {
  static const std::regex kernel("__global__[^;{]*?(\\w+)\\(const ");
  check_headers(program);
  program.image = "JITCFAKE 1\n";
  for (std::sregex_iterator at(program.source.begin(), program.source.end(), kernel), end; at != end; ++at)
    program.image += "kernel " + (*at)[1].str() + "\n";
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

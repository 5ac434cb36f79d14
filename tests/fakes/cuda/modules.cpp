// Modules, functions and variables. A fake image is text, or a fat binary header with that text behind it:
//   JITCFAKE 1
//   kernel NAME [BODY]       a kernel of kernels.cpp, under a name of its own if BODY is given
//   global NAME BYTES        a variable, zero at first
// PTX is taken for the kernels that it names, when their bodies are known here, and for its variables of a
// single number: ".global .align 8 .u64 NAME;".
#include "modules.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>

#include "call.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
constexpr uint32_t kFatMagic = 0xBA55ED50;
struct FatHeader {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size;
};
static_assert(sizeof(FatHeader) == 16);

enum Attribute { kMaxThreads, kShared, kConst, kLocal, kRegisters, kPtx, kBinary, kCache, kMaxDynamic };
constexpr int kFirstSettable = kMaxDynamic, kAttributes = 16, kMostShared = 232448;

std::map<uint64_t, std::shared_ptr<Module>>& modules() {
  static auto* const all = new std::map<uint64_t, std::shared_ptr<Module>>;
  return *all;
}

std::map<uint64_t, Function>& functions() {
  static auto* const all = new std::map<uint64_t, Function>;
  return *all;
}

std::string text_of(const void* image) {
  FatHeader header;
  uint32_t magic;
  std::memcpy(&magic, needed(image), sizeof magic);
  if (magic != kFatMagic) return static_cast<const char*>(image);  // as PTX: ends with a zero
  std::memcpy(&header, image, sizeof header);
  if (header.version != 1 || header.header_size < sizeof header) throw Failure{kInvalidImage};
  std::string text(static_cast<const char*>(image) + header.header_size, header.size);
  return text.c_str();  // what is behind a zero is padding
}

struct Content {
  std::map<std::string, const Kernel*> kernels;
  std::map<std::string, size_t> globals;
};

/// Without std::regex: ThreadSanitizer minds what two of them do to the process's locale.
Content parse_ptx(const std::string& text) {
  static constexpr std::string_view kEntry = ".entry ";
  Content content;
  for (size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at)) {
    at = text.find_first_not_of(" \t\n", at + kEntry.size());
    if (at == std::string::npos) throw Failure{kInvalidImage};
    const std::string name = text.substr(at, text.find_first_of("( \t\n", at) - at);
    if (!(content.kernels[name] = find_kernel(name))) throw Failure{kNoBinary};
  }
  constexpr std::string_view kVariable = ".global .align 8 .u64 ";
  for (size_t at = text.find(kVariable); at != std::string::npos; at = text.find(kVariable, at)) {
    at += kVariable.size();
    content.globals[text.substr(at, text.find(';', at) - at)] = 8;
  }
  return content;
}

Content parse(const std::string& text) {
  if (text.find(".version ") != std::string::npos) return parse_ptx(text);
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != "JITCFAKE 1") throw Failure{kInvalidImage};
  Content content;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind, name, more;
    words >> kind >> name >> more;
    if (kind.empty()) continue;
    if (name.empty() || (kind != "kernel" && kind != "global")) throw Failure{kInvalidImage};
    if (kind == "global" && !(content.globals[name] = std::strtoull(more.c_str(), nullptr, 10)))
      throw Failure{kInvalidImage};
    if (kind == "kernel" && !(content.kernels[name] = find_kernel(more.empty() ? name : more)))
      throw Failure{kNoBinary};
  }
  return content;
}

/// Memory for a variable of an image, by JITC_FAKE_VARIABLES: at a place of its own that is the same in all
/// processes (fixed), that place of the image's variable at the other end of its list (swapped), or another
/// one in each process (moved); without it anywhere. ThreadSanitizer allows only the first range (and
/// ends the process when it is asked for the second), AddressSanitizer only the second.
CUdeviceptr allocate(const std::string& text, const std::string& variable, size_t size, int device) {
  constexpr uint64_t kPlaces = 1 << 14, kBytes = 1 << 21;
  Memory& memory = Memory::instance();
  const char* const asked = std::getenv("JITC_FAKE_VARIABLES");
  if (!asked) return memory.allocate(size, device);
  const std::string process = std::strcmp(asked, "moved") == 0 ? std::to_string(::getpid()) : "";
  const uint64_t place = std::hash<std::string>{}(text + variable + process) % kPlaces * kBytes;
  for (const uint64_t base : {uint64_t{0x4000000000}, uint64_t{0x5d0000000000}}) {
    const CUdeviceptr got = memory.allocate(size, device, base + place);
    if (got == base + place) return got;
    memory.free(got);
  }
  return memory.allocate(size, device);
}

int load(const char* name, CUmodule* out, const void* image, unsigned options) {
  return call(name, Needs::unsafe, {Field::address("image", image), Field::count("options", options)},
              [&](Call& call) {
                const std::string text = text_of(image);
                call.note(Field::text("text", text.c_str()));
                call.context().wait_if_asked();
                Content content = parse(text);
                auto module = std::make_shared<Module>(
                    Module{call.context().shared_from_this(), std::move(content.kernels), {}});
                const char* const places = std::getenv("JITC_FAKE_VARIABLES");
                auto other = content.globals.rbegin();
                for (const auto& [variable, size] : content.globals) {
                  const std::string& place =
                      places && std::strcmp(places, "swapped") == 0 ? other->first : variable;
                  module->globals[variable] = {allocate(text, place, size, call.context().ordinal), size};
                  ++other;
                }
                const auto lock = locked();
                const uint64_t handle = Driver::instance().new_handle();
                modules()[handle] = std::move(module);
                *needed(out) = handle_of<CUmodule>(handle);
                call.note(Field::address("out", *out));
              });
}

std::shared_ptr<Module>& module_of(CUmodule handle) {
  const auto found = modules().find(number_of(handle));
  if (found == modules().end()) throw Failure{kInvalidHandle};
  return found->second;
}

uint64_t handle_of_function(CUmodule module_handle, const std::string& name) {
  const auto& module = module_of(module_handle);
  const auto kernel = module->kernels.find(name);
  if (kernel == module->kernels.end()) throw Failure{kNotFound};
  for (const auto& [handle, function] : functions())
    if (function.module == module && function.name == name) return handle;
  const uint64_t handle = Driver::instance().new_handle();
  functions()[handle] = {number_of(module_handle), module, name, kernel->second, {}};
  return handle;
}

int attribute_of(const Function& function, int attribute) {
  const auto set = function.attributes.find(attribute);
  if (set != function.attributes.end()) return set->second;
  switch (attribute) {
    case kMaxThreads:
      return 1024;
    case kRegisters:
      return 32;
    case kPtx:
    case kBinary:
      return 90;
    case kMaxDynamic:
      return 49152;
    default:
      return 0;
  }
}

Field function_field(CUfunction function) { return Field::address("function", function); }
Field module_field(CUmodule module) { return Field::address("module", module); }
}  // namespace

Function& function_of(CUfunction handle) {
  const auto found = functions().find(number_of(handle));
  if (found == functions().end()) throw Failure{kInvalidHandle};
  return found->second;
}

void forget_modules(const ContextPointer& context) {
  std::erase_if(functions(), [&](const auto& each) { return each.second.module->context == context; });
  std::erase_if(modules(), [&](const auto& each) { return each.second->context == context; });
}

int cuModuleLoadData(CUmodule* out, const void* image) { return load("cuModuleLoadData", out, image, 0); }
int cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, int*, void**) {
  return load("cuModuleLoadDataEx", out, image, count);
}

/// Waits for all work, because the module's code and variables go.
int cuModuleUnload(CUmodule handle) {
  return call("cuModuleUnload", Needs::unsafe, {module_field(handle)}, [&](Call& call) {
    auto lock = locked();
    const std::shared_ptr<Module> module = module_of(handle);
    call.context().wait_all(lock, call.context().tails());
    std::erase_if(functions(), [&](const auto& each) { return each.second.module == module; });
    modules().erase(number_of(handle));
    lock.unlock();
    for (const auto& [name, variable] : module->globals) Memory::instance().free(variable.address);
  });
}

int cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  return call("cuModuleGetFunction", Needs::context, {module_field(module), Field::text("name", name)},
              [&](Call& call) {
                const auto lock = locked();
                *needed(out) = handle_of<CUfunction>(handle_of_function(module, needed(name)));
                call.note(Field::address("out", *out));
              });
}

int cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return call("cuModuleGetFunctionCount", Needs::context, {module_field(module)}, [&](Call&) {
    const auto lock = locked();
    *needed(count) = static_cast<unsigned>(module_of(module)->kernels.size());
  });
}

int cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* size, CUmodule module, const char* name) {
  return call("cuModuleGetGlobal_v2", Needs::context, {module_field(module), Field::text("name", name)},
              [&](Call&) {
                const auto lock = locked();
                const auto& globals = module_of(module)->globals;
                const auto found = globals.find(needed(name));
                if (found == globals.end()) throw Failure{kNotFound};
                if (address) *address = found->second.address;
                if (size) *size = found->second.size;
              });
}

int cuModuleGetLoadingMode(int* mode) {
  return call("cuModuleGetLoadingMode", Needs::driver, {}, [&](Call&) { *needed(mode) = 2; });  // lazy
}

int cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  return call("cuFuncGetAttribute", Needs::context,
              {function_field(function), Field::count("attribute", static_cast<uint64_t>(attribute))},
              [&](Call&) {
                if (attribute < 0 || attribute >= kAttributes) throw Failure{kInvalidValue};
                const auto lock = locked();
                *needed(value) = attribute_of(function_of(function), attribute);
              });
}

int cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  return call("cuFuncSetAttribute", Needs::context,
              {function_field(function), Field::count("attribute", static_cast<uint64_t>(attribute)),
               Field::real("value", value)},
              [&](Call&) {
                const bool known = attribute >= kFirstSettable && attribute < kAttributes;
                if (!known || (attribute == kMaxDynamic && (value < 0 || value > kMostShared)))
                  throw Failure{kInvalidValue};
                const auto lock = locked();
                function_of(function).attributes[attribute] = value;
              });
}

int cuFuncSetCacheConfig(CUfunction function, int config) {
  return call("cuFuncSetCacheConfig", Needs::context,
              {function_field(function), Field::count("config", static_cast<uint64_t>(config))}, [&](Call&) {
                const auto lock = locked();
                function_of(function);
              });
}

int cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  return call("cuFuncGetParamInfo", Needs::context, {function_field(function), Field::count("index", index)},
              [&](Call&) {
                const auto lock = locked();
                const auto& parameters = function_of(function).kernel->parameters;
                if (index >= parameters.size()) throw Failure{kInvalidValue};
                *needed(offset) = parameters[index].offset;
                if (size) *size = parameters[index].size;
              });
}

int cuFuncGetName(const char** name, CUfunction function) {
  return call("cuFuncGetName", Needs::context, {function_field(function)}, [&](Call&) {
    const auto lock = locked();
    *needed(name) = function_of(function).name.c_str();
  });
}

int cuFuncGetModule(CUmodule* module, CUfunction function) {
  return call("cuFuncGetModule", Needs::context, {function_field(function)}, [&](Call&) {
    const auto lock = locked();
    *needed(module) = handle_of<CUmodule>(function_of(function).module_handle);
  });
}

}  // namespace jitc::fakes

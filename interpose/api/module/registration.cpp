// Registrations of compiled programs at load time: fat binaries, with the kernels and variables in them.
//
// Promise: a registration only adds an entry to a list (an import makes 35,000 of them); nothing more happens
// before a kernel or a variable is looked up.
#include "registration.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "api/generated/generated_api.h"
#include "kernels.h"
#include "variables.h"

namespace jitc::api {
namespace {

struct RegisteredFunction {
  const void* function;
  const char* name;  // mangled, in the registering library's memory
};
struct RegisteredVariable {
  const void* symbol;
  const char* name;
  size_t bytes;
};
/// Content of one __cudaRegisterFatBinary; its address is the handle.
struct FatBinary {
  void* bytes = nullptr;
  std::vector<RegisteredFunction> functions;
  std::vector<RegisteredVariable> variables;
  ModuleImage* image = nullptr;  // set once part of it is used
  std::vector<uint64_t> kernels;
};
struct Registry {
  std::mutex mutex;
  std::deque<FatBinary*> binaries;
};
Registry& registry() {
  static auto& out = *new Registry;
  return out;
}

/// Returns the binary's image. Requires the lock.
ModuleImage& image_of(FatBinary& binary) {
  if (!binary.image) binary.image = new ModuleImage(image_at(binary.bytes));
  return *binary.image;
}

FatBinary* from_handle(void** handle) { return reinterpret_cast<FatBinary*>(handle); }

/// Removes the binary from the list, and its kernels from the table; nullptr: not registered.
std::unique_ptr<FatBinary> take(void** handle) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = std::find(all.binaries.begin(), all.binaries.end(), from_handle(handle));
  if (found == all.binaries.end()) return nullptr;
  std::unique_ptr<FatBinary> binary(*found);
  all.binaries.erase(found);
  for (const uint64_t host_function : binary->kernels) set_kernel(host_function, nullptr);
  return binary;
}

}  // namespace

const char* registered_name(const void* host_function) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const FatBinary* binary : all.binaries)
    for (const auto& one : binary->functions)
      if (one.function == host_function) return one.name;
  return nullptr;
}

Kernel* registered_kernel(uint64_t host_function) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (FatBinary* binary : all.binaries)
    for (const auto& one : binary->functions) {
      if (reinterpret_cast<uint64_t>(one.function) != host_function) continue;
      if (Kernel* known = known_kernel(host_function)) return known;  // another thread came first
      auto* kernel = new Kernel(image_of(*binary), one.name);
      binary->kernels.push_back(host_function);
      set_kernel(host_function, kernel);
      return kernel;
    }
  return nullptr;
}

bool registered_variable(const void* symbol, RegisteredSymbol* out) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (FatBinary* binary : all.binaries)
    for (const auto& one : binary->variables)
      if (one.symbol == symbol) return *out = {&image_of(*binary), one.name, one.bytes}, true;
  return false;
}

void** __cudaRegisterFatBinary(void* image) {
  auto* binary = new FatBinary;
  binary->bytes = image;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.binaries.push_back(binary);
  return reinterpret_cast<void**>(binary);
}
void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  try {
    const std::unique_ptr<FatBinary> binary = take(handle);
    if (!binary || !binary->image || forked()) return;
    forget_variables(*binary->image);
    binary->image->unload();
  } catch (...) {
    // Out of memory at a library's end: the loaded modules stay loaded.
  }
}

void __cudaRegisterFunction(void** handle, const uint8_t* function, char*, const char* name, int32_t, void*,
                            void*, Dim3*, Dim3*, int32_t*) {
  if (!handle) return;
  const std::lock_guard lock(registry().mutex);
  from_handle(handle)->functions.push_back({function, name});
}
void __cudaRegisterVar(void** handle, char* symbol, char*, const char* name, int32_t, size_t bytes, int32_t,
                       int32_t) {
  if (!handle) return;
  const std::lock_guard lock(registry().mutex);
  from_handle(handle)->variables.push_back({symbol, name, bytes});
}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int32_t, size_t, int32_t, int32_t) {}
uint32_t __cudaInitModule(void**) { return 1; }

}  // namespace jitc::api

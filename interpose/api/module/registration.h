// Registrations that compiled programs made at load time, by the address that stands for each.
//
// Used by kernels.cpp, launch.cpp and function.cpp (kernels), symbol_copy.cpp (variables).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace jitc::api {

class Kernel;
class ModuleImage;

/// Returns the kernel of a host function of the program; nullptr: not registered.
Kernel* registered_kernel(uint64_t host_function);
/// Returns its name, without making it a kernel.
const char* registered_name(const void* host_function);

/// Registration of the program under a symbol; false: none.
struct RegisteredSymbol {
  ModuleImage* image;
  std::string name;
  size_t bytes;
};
bool registered_variable(const void* symbol, RegisteredSymbol* out);

}  // namespace jitc::api

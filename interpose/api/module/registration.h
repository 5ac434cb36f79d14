// What compiled programs registered at load time, looked up by the address that stands for it.
//
// Used by kernels.cpp, launch.cpp and function.cpp (kernels), symbol_copy.cpp (variables).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace jitc::api {

class Kernel;
class ModuleImage;

/// The kernel of a host function of the program; nullptr: not registered.
Kernel* registered_kernel(uint64_t host_function);
/// Its name, without making it a kernel.
const char* registered_name(const void* host_function);

/// What the program registered under a symbol; false: nothing.
struct RegisteredSymbol {
  ModuleImage* image;
  std::string name;
  size_t bytes;
};
bool registered_variable(const void* symbol, RegisteredSymbol* out);

}  // namespace jitc::api

// Modules of the fake driver: what a fake image names. Used by modules.cpp, launches.cpp and the kernels.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "kernels.h"

namespace jitc::fakes {

struct Global {
  CUdeviceptr address;
  size_t size;
};

struct Module {
  ContextPointer context;
  std::map<std::string, const Kernel*> kernels;
  std::map<std::string, Global> globals;
};

struct Function {
  uint64_t module_handle;
  std::shared_ptr<Module> module;
  std::string name;
  const Kernel* kernel;
  std::map<int, int> attributes;
};

/// With Driver::mutex held; throws kInvalidHandle.
Function& function_of(CUfunction handle);
/// The modules of a context that is no more. Their memory goes with the context's.
void forget_modules(const ContextPointer& context);

}  // namespace jitc::fakes

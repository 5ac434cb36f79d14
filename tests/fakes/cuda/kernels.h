// The kernels that the fake driver can run: real C++ bodies under the names that fake images use.
// Called by modules.cpp and launches.cpp.
#pragma once
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "context.h"

namespace jitc::fakes {

struct Module;

/// One launch as a body sees it. Holds nothing while a body waits; a body holds the memory itself.
struct Launch {
  Context& context;
  const Module& module;
  std::vector<std::byte> parameters;
  std::array<unsigned, 7> shape;  // grid, block, dynamic shared memory

  template <class T>
  T parameter(size_t offset) const {
    T value;
    std::memcpy(&value, parameters.data() + offset, sizeof value);
    return value;
  }
};

struct Parameter {
  size_t offset, size;
};

struct Kernel {
  const char* name;
  std::vector<Parameter> parameters;
  void (*body)(const Launch& launch);
  /// What it takes on a device with a pace, asked when it begins; null: the shortest time of a kernel.
  Cost (*cost)(const Launch& launch) = nullptr;
  size_t parameter_bytes() const {
    return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
  }
};

/// Null: there is no such kernel.
const Kernel* find_kernel(const std::string& name);

}  // namespace jitc::fakes

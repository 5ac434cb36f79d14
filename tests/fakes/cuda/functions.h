// Declares the exported functions of functions.def, so that each definition is checked against its signature.
#pragma once
#include <type_traits>

#include "abi.h"

#define JITC_FAKE(name, ...) \
  extern "C" __attribute__((visibility("default"))) std::type_identity_t<__VA_ARGS__> name;
namespace jitc::fakes {
#include "functions.def"
}  // namespace jitc::fakes
#undef JITC_FAKE

// For the other fakes, which reach the driver by dlsym: where device memory really lies (null: not
// accessible).
extern "C" __attribute__((visibility("default"))) void* jitc_fake_memory(unsigned long long address,
                                                                         size_t size);
// The graph that the stream is captured into keeps data: release is called when it and its executables are
// gone.
extern "C" __attribute__((visibility("default"))) int jitc_fake_retain(void* stream, void (*release)(void*),
                                                                       void* data);
// Called in a host function: the context has a sticky error when it returns, as after a kernel that faults.
extern "C" __attribute__((visibility("default"))) void jitc_fake_fault(int code);

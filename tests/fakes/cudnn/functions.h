// Declares the exported functions of functions.def, so that each definition is checked against its signature.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#define JITC_FAKE(name, ...) \
  extern "C" __attribute__((visibility("default"))) std::type_identity_t<__VA_ARGS__> name;
namespace jitc::fakes {
#include "functions.def"
}  // namespace jitc::fakes
#undef JITC_FAKE

// A function of the spec against the one of a real header, which is included before.
#pragma once
#include "api/common/abi_types.h"
#include "same_abi.h"

#define JITC_CHECK(name, ...) \
  static_assert(::jitc::SameAbi<__VA_ARGS__, std::remove_pointer_t<decltype(&::name)>>::value, #name)

// Reads and writes of an operator call, found without running it.
//
// Called by: library.cpp, for a device that checks the order of ops. Promises: no memory of the device is
// touched; a call that does not fit the operator's schema or the format throws Malformed.
#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "jitc/operators_api.h"

namespace jitc::operators {

using TakeAccess = std::function<void(const jitc_tensor_access&)>;
/// Lists the accesses, written tensors last. query: leaves those out, as the query works on copies.
void list_accesses(std::span<const uint8_t> bytes, bool query, const TakeAccess& take);

}  // namespace jitc::operators

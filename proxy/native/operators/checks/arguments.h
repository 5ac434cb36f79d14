// What every call is checked for before its operator runs, whatever the operator is, and then the operator's
// own check.
//
// Called by run.cpp before every query and call. Promise: a call that does not pass throws c10::Error, and
// nothing of it has run.
#pragma once
#include <cstdint>

#include "operators/call/decode.h"

namespace jitc::operators {

/// memory_limit: bytes of the GPU's memory, 0 for no limit.
void check_arguments(const Call& call, uint64_t memory_limit);

}  // namespace jitc::operators

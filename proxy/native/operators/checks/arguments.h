// General checks of every call before its operator runs, followed by the operator's own check.
//
// Called by run.cpp before every query and call. Promise: a call that fails a check throws c10::Error, and
// nothing of it has run.
#pragma once
#include <cstdint>

#include "operators/call/decode.h"

namespace jitc::operators {

/// Checks a call. memory_limit: bytes of the GPU's memory, 0 for no limit.
void check_arguments(const Call& call, uint64_t memory_limit);

}  // namespace jitc::operators

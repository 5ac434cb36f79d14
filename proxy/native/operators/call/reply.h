// Answer to an operator query (jitc/operator_call.h, "Reply").
//
// Called by: run.cpp.
#pragma once
#include <cstdint>
#include <vector>

#include "decode.h"

namespace jitc::operators {

/// Describes the results of a call that has been run, which are on its stack.
void write_reply(const Call& call, std::vector<uint8_t>& reply);

}  // namespace jitc::operators

// The answer to an operator query (wire.h, "Reply").
#pragma once
#include <cstdint>
#include <vector>

#include "operators/decode.h"

namespace jitc::operators {

/// call has been run: its stack holds the results.
void write_reply(const Call& call, std::vector<uint8_t>& reply);

}  // namespace jitc::operators

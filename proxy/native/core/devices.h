// What the core needs of the devices beside Backend. Implemented in ../devices.cpp, the one file that knows
// both sides.
#pragma once
#include <cstdint>

namespace jitc {

/// Bytes of the shared segment of a communicator with so many ranks.
uint64_t segment_bytes(uint32_t ranks);

}  // namespace jitc

// What the rest of the executor needs to know of the software device's collectives.
#pragma once
#include <cstdint>

namespace jitc::software {
/// Size of the zero-filled shared memory that Rendezvous::join hands out for so many ranks.
uint64_t software_segment_bytes(uint32_t ranks);
}  // namespace jitc::software

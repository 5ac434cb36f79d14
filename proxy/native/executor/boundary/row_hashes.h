// Content hashes of live allocations, where they are on the device.
//
// Called by: RowCopies (boundaries, steps), Validation.
#pragma once
#include <span>
#include <vector>

#include "boundary_state.h"
#include "device/device_memory.h"

namespace jitc {

/// Content hashes of the rows' places now, in their order; kNoHash where nothing is allocated.
std::vector<Hash> hashes_of(const DeviceMemory& memory, std::span<const LiveRow> rows);

}  // namespace jitc

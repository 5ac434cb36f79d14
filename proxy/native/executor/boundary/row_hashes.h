// Content hashes of live allocations, computed where they are on the device.
//
// Called by: RowCopies (boundaries, steps), Validation.
#pragma once
#include <span>
#include <vector>

#include "boundary_state.h"
#include "device/device_memory.h"

namespace jitc {

/// Returns the rows' current content hashes, in their order; kNoHash where nothing is allocated.
std::vector<Hash> hashes_of(const DeviceMemory& memory, std::span<const LiveRow> rows);

}  // namespace jitc

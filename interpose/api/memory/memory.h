// Device memory: owners of addresses, allocations.
//
// Used by all functions that take an address of the program. Promise: an address outside of the program's
// device memory is recognized.
#pragma once
#include "api/address/address_space.h"
#include "api/common/visible_devices.h"

namespace jitc::api {

/// Returns the session's addresses (made on first use, never destroyed).
AddressSpace& addresses_of(Session& session);
/// Returns the session if one allocation or variable holds [address, address + bytes); else nullptr.
Session* device_range(uint64_t address, uint64_t bytes, Block* block = nullptr);

Status allocate(Session& session, uint64_t bytes, uint64_t* address);
/// Frees memory. use: its last possible use; none if the caller has waited.
Status release(uint64_t address, const LastUse& use);
AddressSpace::IsOver is_over(Session& session);

}  // namespace jitc::api

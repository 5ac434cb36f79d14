// Device memory: where an address lies, allocations.
//
// Used by all functions that take an address of the program. Promise: an address outside of the program's
// device memory is recognized.
#pragma once
#include "api/address/address_space.h"
#include "api/common/visible_devices.h"

namespace jitc::api {

/// The session's addresses (made on first use, never destroyed).
AddressSpace& addresses_of(Session& session);
/// The address's session, when [address, address + bytes) lies in one allocation or variable; else nullptr.
Session* device_range(uint64_t address, uint64_t bytes, Block* block = nullptr);

Status allocate(Session& session, uint64_t bytes, uint64_t* address);
/// use: what may still use the memory; nothing does when the caller has waited.
Status release(uint64_t address, const LastUse& use);
AddressSpace::IsOver is_over(Session& session);

}  // namespace jitc::api

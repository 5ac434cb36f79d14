// Host memory that the program has pinned or registered.
//
// Used by the copies (place.h) and by pointer.cpp. Promise: a look-up takes a shared lock, sends no request.
#pragma once
#include <cstddef>

#include "api/common/visible_devices.h"

namespace jitc::api {

/// Range of host memory.
struct HostRange {
  uint64_t address = 0, bytes = 0;
  bool pinned = false;  // or registered: device copies reach all of it without the program waiting
  const Session* mapped_by = nullptr;  // its worker has the pinned memory mapped too
};
HostRange host_range(uint64_t address, uint64_t bytes);
bool pinned_flags(uint64_t address, uint32_t* flags);
/// Allocates memory that the session's worker has mapped and registered too; nullptr: there is none.
std::byte* take_shared(Session& session, uint64_t bytes);
/// Returns the size of the pinned memory that the session's worker can share; 0: none.
uint64_t shared_bytes(const Session& session);

}  // namespace jitc::api

// Host memory that the program has pinned or registered.
//
// Used by the copies and by pointer.cpp. Promise: a look-up takes a shared lock and asks nobody.
#pragma once
#include <cstddef>

#include "api/common/visible_devices.h"

namespace jitc::api {

/// Host memory that device copies reach without the program waiting (pinned or registered).
bool is_pinned(uint64_t address, uint64_t bytes);
/// Pinned memory that the session's worker has mapped too.
bool is_shared(const Session& session, uint64_t address, uint64_t bytes);
bool pinned_flags(uint64_t address, uint32_t* flags);
/// Memory that the session's worker has mapped and registered too; nullptr: there is none.
std::byte* take_shared(Session& session, uint64_t bytes);
/// All pinned memory that the session's worker can share; 0: none.
uint64_t shared_bytes(const Session& session);

}  // namespace jitc::api

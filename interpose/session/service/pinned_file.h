// Checks the memory that a session's worker shares with this process, before anything is mapped.
//
// Called by: reconnect.cpp. Promise: only the session's own file is used, and it cannot become smaller.
#pragma once
#include "session/session.h"

namespace jitc::session {

/// Returns whether the region's descriptor is what the service made for this session.
bool is_ours(const PinnedRegion& region);

}  // namespace jitc::session

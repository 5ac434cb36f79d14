// Opens the memory that a session's worker shares with this process.
//
// Called by: the API layer's pinned memory, progress_reader.cpp. Promise: only the session's own file is
// opened: in another PID namespace its path may lead to a file of somebody else.
#pragma once
#include "session/session.h"

namespace jitc::session {

/// A descriptor that the caller closes; -1: the file is not there, or is not the session's.
int open_pinned(const PinnedRegion& region);

}  // namespace jitc::session

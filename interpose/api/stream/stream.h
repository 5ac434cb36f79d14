// Streams beyond front.h's resolve_stream: for who must look at a stream without putting anything on it.
//
// Used by graph.cpp and event.cpp.
#pragma once
#include "api/common/front.h"

namespace jitc::api {

/// As resolve_stream, also for a stream whose capture has become invalid.
Status find_stream(uint64_t stream, StreamRef* out);
/// Whether there is such a stream, without opening a session.
bool is_known_stream(uint64_t stream);
/// Whether the stream and the default stream wait for each other.
bool is_blocking(uint64_t stream);

}  // namespace jitc::api

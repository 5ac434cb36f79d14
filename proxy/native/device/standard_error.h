// Writes a worker's line to standard error, for a reader of its service's log.
//
// Called by: devices. Promises: it never waits for a reader, and a closed pipe causes no signal or exception;
// a line is written whole, or as much of it as there is room for, or not at all. Python's side has the same
// (proxy/common/standard_streams.py).
#pragma once

namespace jitc {

/// Prints as printf; "jitc-worker: " comes before it, a new line after it. Output beyond 1 KiB is cut.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace jitc

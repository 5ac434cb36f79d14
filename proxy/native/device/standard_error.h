// A line on standard error, by which a worker says something to whoever reads its service's log.
//
// Called by: devices. Promises: it never waits for a reader, and no signal or exception comes of one that is
// gone; a line is written whole, or as much of it as there is room for, or not at all. Python's side has the
// same (proxy/common/standard_streams.py).
#pragma once

namespace jitc {

/// As printf; "jitc-worker: " comes before it, and a new line after it. What is longer than 1 KiB is cut.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace jitc

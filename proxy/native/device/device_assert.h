// Assert: a kernel reports a fault in the program's own numbers (an index out of range).
//
// Called by: both devices. The service reports it to the program the first time, since no replay helps
// (proxy/recovery/incident.py).
#pragma once

namespace jitc::device {

/// Cause of an assert (cudaErrorAssert), as in OpError.
inline constexpr const char* kDeviceAssert = "device-assert";

}  // namespace jitc::device

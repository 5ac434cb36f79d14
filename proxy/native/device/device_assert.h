// What a kernel reports of the numbers that the program gave it (an index out of range): an assert.
//
// Called by: both devices. The service hands it to the program the first time, since no replay helps
// (proxy/recovery/incident.py).
#pragma once
#include <cstdint>

namespace jitc::device {

inline constexpr uint32_t kAssert = 710;  // cudaErrorAssert
/// Its cause, as in OpError.
inline constexpr const char* kDeviceAssert = "device-assert";

}  // namespace jitc::device

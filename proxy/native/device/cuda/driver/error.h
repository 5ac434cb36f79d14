// What a status of the driver means, and how an op fails (../../common/error.h) because of one.
//
// Caught in Device::enqueue, where every sticky error is a fault, also of an op that waits.
#pragma once
#include <cstdint>
#include <string>

#include "device/common/error.h"
#include "driver.h"

namespace jitc::cuda {

using namespace device;  // its names are used as this device's own

/// The cudaError_t of a CUresult. They are equal but for a few that the runtime has no name for.
uint32_t runtime_status(abi::CUresult status);
/// Cause of a status after which the context gives nothing but errors, or nullptr: "ecc-error",
/// "device-lost", "sticky-error" (the service replaces the worker on these) or "device-assert".
const char* sticky_cause(abi::CUresult status);
/// The status as an error; what: the driver function.
OpError error_of(const Driver& driver, const char* what, abi::CUresult status);

/// Throws unless the call succeeded.
inline void check(const Driver& driver, const char* what, abi::CUresult status) {
  if (status != 0) throw error_of(driver, what, status);
}

}  // namespace jitc::cuda

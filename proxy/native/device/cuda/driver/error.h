// Meaning of the driver's statuses, and the errors of ops (../../common/error.h) that they cause.
//
// Device::enqueue catches them; there every sticky error is a fault, also of an op that waits.
#pragma once
#include <cstdint>
#include <string>

#include "device/common/error.h"
#include "driver.h"

namespace jitc::cuda {

using namespace device;  // its names are used as this device's own

/// Returns the cudaError_t of a CUresult. Both are equal, except for a few that the runtime has no name for.
uint32_t runtime_status(abi::CUresult status);
/// Returns the cause of a status after which the context returns only errors, or nullptr: "ecc-error",
/// "device-lost", "sticky-error" (the service replaces the worker on these) or "device-assert".
const char* sticky_cause(abi::CUresult status);
/// Returns the status as an error; what: the driver function.
OpError error_of(const Driver& driver, const char* what, abi::CUresult status);

/// Throws unless the call succeeded.
inline void check(const Driver& driver, const char* what, abi::CUresult status) {
  if (status != 0) throw error_of(driver, what, status);
}

}  // namespace jitc::cuda

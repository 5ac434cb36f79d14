// Number of a kernel's blocks that fit on its device, as reported by the device.
//
// Used by occupancy.cpp, launch_check.cpp. Promise: the device is asked once per kernel and question; a known
// answer costs a look through a short list, under a shared lock.
#pragma once
#include "api/module/kernels.h"

namespace jitc::api {

/// Answers a query. query: without function and kind. answer: unchanged unless it succeeds.
Status occupancy(Function& function, ops::OccupancyKind kind, ops::FunctionQuery query, uint64_t* answer);

}  // namespace jitc::api

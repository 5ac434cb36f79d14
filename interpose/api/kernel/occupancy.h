// How many blocks of a kernel fit on its device, as the device says.
//
// Used by occupancy.cpp, launch_check.cpp. Promise: the device is asked once per kernel and question; a known
// answer costs a look through a short list, under a shared lock.
#pragma once
#include "api/module/kernels.h"

namespace jitc::api {

/// query: without function and kind. answer: unchanged unless it succeeds.
Status occupancy(Function& function, ops::OccupancyKind kind, ops::FunctionQuery query, uint64_t* answer);

}  // namespace jitc::api

// Checks that a driver makes at the call of a launch. The launch itself goes to the device unanswered, where
// a refusal would be a fault.
//
// Used by launch.cpp. Promises: nothing is refused that a driver accepts (uncertain cases are left to the
// device); a launch with clusters or a cooperative one asks the device once per kernel and shape, and looks
// up its answer under a shared lock from then on; all others send no request and take no lock.
#pragma once
#include "launch.h"

namespace jitc::api {

/// Checks a launch. bad_shape: the API's error for an impossible grid or block.
Status check_launch(Function& function, const Shape& shape, LaunchAttributes attributes, Status bad_shape);

}  // namespace jitc::api

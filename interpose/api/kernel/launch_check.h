// What a driver refuses at the call of a launch. The launch itself goes to the device unanswered, and what is
// refused there would be a fault.
//
// Used by launch.cpp. Promises: nothing is refused that a driver takes (what is not sure here is left to the
// device); a launch with clusters or a cooperative one asks the device once per kernel and shape, and looks
// up its answer under a shared lock from then on; all others ask nobody and take no lock.
#pragma once
#include "launch.h"

namespace jitc::api {

/// bad_shape: what the API says of a grid or block that cannot be.
Status check_launch(Function& function, const Shape& shape, LaunchAttributes attributes, Status bad_shape);

}  // namespace jitc::api

// Errors of ops of the software device: the same as for any device. Called by: everything here.
#pragma once
#include "device/common/error.h"

namespace jitc::software {

using namespace device;  // its names are used as this device's own

}  // namespace jitc::software

// How an op of the software device fails: as an op of any device does. Called by: everything here.
#pragma once
#include "device/common/error.h"

namespace jitc::software {

using namespace device;  // its names are used as this device's own

}  // namespace jitc::software

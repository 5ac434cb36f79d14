// A device's attributes, as cudaDeviceGetAttribute gives them.
//
// Called by: gpu_questions.cpp; device.cpp defines it.
#pragma once
#include "api/common/visible_devices.h"

namespace jitc::api {

/// By CUdevice_attribute; 0 for what the device does not have.
int attribute_of(int32_t number, const GpuInfo& gpu);

}  // namespace jitc::api

// Attributes of a device, as cudaDeviceGetAttribute returns them.
//
// Called by: gpu_questions.cpp; device.cpp defines it.
#pragma once
#include "api/common/visible_devices.h"

namespace jitc::api {

/// Returns the attribute by CUdevice_attribute; 0 if the device does not have it.
int attribute_of(int32_t number, const GpuInfo& gpu);

}  // namespace jitc::api

// Counts GPUs before the program uses any.
//
// Called by: device/device.cpp, client_api.cpp; visible_devices.cpp defines it.
#pragma once

namespace jitc::api {

/// Returns visible_count() for a program that only counts: until something else needs GPUs,
/// CUDA_VISIBLE_DEVICES may still change. -1: the service has none.
int count_without_settling();
/// Returns whether some call needed GPUs already (cuInit, or any of the runtime API).
bool has_asked_for_gpus();

}  // namespace jitc::api

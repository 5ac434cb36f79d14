// Call sites of ops in the program, for a service that checks the order of ops (`--check-order`).
//
// Every operator that PyTorch dispatches is followed by name, collectives of torch.distributed included; its
// Python lines are taken where the outermost one begins, before anything in PyTorch is locked. Called by:
// install.cpp; note_wait by copy.cpp and redirect.cpp.
#pragma once
#include <c10/core/Device.h>

namespace jitc::torch_device {

/// Follows call sites from now on. torch: PyTorch's folder; libraries: the folder of installed packages.
void follow_sites(const char* torch, const char* libraries);

/// Notes that with CUDA's own kernels the program would have waited here for the device's current stream.
void note_wait(c10::DeviceIndex device);

}  // namespace jitc::torch_device

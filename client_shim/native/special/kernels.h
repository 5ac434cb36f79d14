// Kernels that PyTorch launches by itself, past its operators, on a device that runs no kernels.
//
// Registered by install.cpp with the interposer, which asks at each launch. Promise: the kernel's stream gets
// the effect that the kernel would have had there; an unknown name is left to the interposer, which refuses
// it.
#pragma once

namespace jitc::torch_device {

/// Serves a kernel as jitc_kernel_server (jitc/kernel_server.h) specifies.
int serve_kernel(const char* name, int device, void* stream, void** arguments);

}  // namespace jitc::torch_device

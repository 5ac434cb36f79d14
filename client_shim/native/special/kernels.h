// Kernels that PyTorch launches by itself, past its operators, on a device that runs no kernels.
//
// Registered by install.cpp with the interposer, which asks at each launch. Promise: the kernel's stream gets
// what the kernel would have done there; a name that is not known is left to the interposer, which refuses
// it.
#pragma once

namespace jitc::torch_device {

/// As jitc_kernel_server (jitc/kernel_server.h).
int serve_kernel(const char* name, int device, void* stream, void** arguments);

}  // namespace jitc::torch_device

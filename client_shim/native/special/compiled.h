// The operator by which compiled code calls its kernels: jitc_client::host_kernel.
//
// Called by: install.cpp, on the software device only; its calls come from inductor/host_kernels.py.
#pragma once

namespace jitc::torch_device {

void serve_compiled_kernels();

}  // namespace jitc::torch_device

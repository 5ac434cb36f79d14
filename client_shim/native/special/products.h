// Matrix products with a summand (`addmm`, and so `nn.Linear`) on the software device.
//
// Called by install.cpp. PyTorch's own code runs, so that its cuBLAS calls take the path that they take on a
// GPU. Where it cannot hand the summand to cuBLASLt it copies it into the result with a kernel, past the
// dispatcher; so here the summand gets the shape of the result first, and that copy is one of memory.
// Promise: no GPU kernel is launched.
#pragma once

#include <torch/library.h>

namespace jitc::torch_device {

/// library: of aten, for CUDA.
void serve_products(torch::Library& library);

}  // namespace jitc::torch_device

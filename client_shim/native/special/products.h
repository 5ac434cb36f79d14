// Matrix products on the software device: those of real numbers stay PyTorch's own CUDA code, which calls
// cuBLAS; those of complex numbers, which the cuBLAS of that device does not have, travel as operators.
//
// Called by install.cpp.
#pragma once
#include <torch/library.h>

#include <string>

namespace jitc::torch_device {

/// Registers the products by their names without "aten::", whichever overloads PyTorch has.
void serve_complex_products(torch::Library& library);
bool is_matrix_product(const std::string& name);

}  // namespace jitc::torch_device

// Matrix products on the software device: those of real numbers stay PyTorch's own CUDA code, which calls
// cuBLAS; those of complex numbers, which the cuBLAS of that device does not have, travel as operators, and
// so does the copy of a sum's first operand that PyTorch would make by a kernel (nn.Linear with one output).
//
// Called by install.cpp.
#pragma once
#include <torch/library.h>

#include <string>

namespace jitc::torch_device {

/// Registers all overloads that PyTorch has of the products, by their names without "aten::".
void serve_complex_products(torch::Library& library);
bool is_matrix_product(const std::string& name);

}  // namespace jitc::torch_device

// Operators of sparse tensors (COO and compressed rows or columns) and of nested ones on the software device.
//
// Called by install.cpp. PyTorch takes such tensors apart above its kernels where it can; the rest are the
// operators that launch kernels by themselves. Operator calls carry dense tensors only, so these run on
// copies in the host's memory of the training process, and their results go to the device. Promise: the same
// results as on the CPU; each call waits for its operands.
#pragma once

namespace jitc::torch_device {

/// Serves sparse tensors for the life of the process. Called after the operators of dense tensors.
void serve_sparse_tensors();

}  // namespace jitc::torch_device

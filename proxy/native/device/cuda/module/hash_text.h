// Sources of the GPU's kernels: hash_kernel.cu with the header that it includes, fault_kernels.cu.
// embed.cmake puts them into the library. Called by: kernel_build.cpp.
#pragma once

namespace jitc::cuda {

extern const char kHashKernel[];
extern const char kFaultKernels[];
extern const char kContentArithmetic[];  // base/content_arithmetic.h

}  // namespace jitc::cuda

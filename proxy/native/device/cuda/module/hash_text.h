// The sources of the kernels that a GPU is given: hash_kernel.cu with the header that it includes,
// fault_kernels.cu. Put into the library by embed.cmake. Called by: kernel_build.cpp.
#pragma once

namespace jitc::cuda {

extern const char kHashKernel[];
extern const char kFaultKernels[];
extern const char kContentArithmetic[];  // base/content_arithmetic.h

}  // namespace jitc::cuda

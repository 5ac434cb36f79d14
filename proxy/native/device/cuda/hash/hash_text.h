// The sources of the kernels that a GPU is given: hash_kernel.cu with the header that it includes,
// harm_kernel.cu. Put into the library by embed.cmake. Called by: kernel_build.cpp.
#pragma once

namespace jitc::cuda {

extern const char kHashKernel[];
extern const char kHarmKernels[];
extern const char kContentArithmetic[];  // base/content_arithmetic.h

}  // namespace jitc::cuda

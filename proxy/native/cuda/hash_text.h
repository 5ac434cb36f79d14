// The source of the GPU's hash kernel: hash_kernel.cu, and the header that it includes. Put into the library
// by embed.cmake. Called by: kernel_build.cpp.
#pragma once

namespace jitc::cuda {

extern const char kHashKernel[];
extern const char kContentArithmetic[];  // core/content_arithmetic.h

}  // namespace jitc::cuda

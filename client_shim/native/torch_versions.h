// Differences between the supported releases of PyTorch, one function per difference.
//
// Called by the other files of this folder, which hold no #if of their own. Promise: the same behaviour with
// each release. How the wheels were built (the C++ library's strings) is in scripts/torch.cmake.
#pragma once
#include <ATen/core/ivalue.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/version.h>

#include <cstdint>
#include <optional>

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 8
#include <ATen/cuda/CachingHostAllocator.h>
#else
#include <ATen/core/CachingHostAllocator.h>
#endif

namespace jitc::torch_device {

/// Keeps PyTorch from giving pinned memory to another tensor before the stream has reached this point.
inline void record_pinned_use(void* memory, void* context, c10::cuda::CUDAStream stream) {
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 8
  at::cuda::CachingHostAllocator_recordEvent(memory, context, stream);
#else
  at::getHostAllocator(at::kCUDA)->record_event(memory, context, stream.unwrap());
#endif
}

/// A value that is a number of a type without a sign, which releases before 2.9 do not have.
inline std::optional<uint64_t> unsigned_number(const c10::IValue& value) {
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 9
  (void)value;
  return std::nullopt;
#else
  return value.isUnsigned() ? std::optional(value.toUInt()) : std::nullopt;
#endif
}

}  // namespace jitc::torch_device

// Reports the type of numbers that are copied to the host, so that a replay can compare them as numbers.
//
// Called by copy.cpp, if operators are redirected; else PyTorch's own kernels run inside such a scope
// (report_elements). Promise: a copy that a thread makes outside of any scope has an unknown type.
#pragma once
#include <ATen/core/Tensor.h>

namespace jitc::torch_device {

/// A scope in which the calling thread's copies hold elements of this type.
class Elements {
 public:
  explicit Elements(c10::ScalarType type);
  ~Elements();
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
};

/// Makes `.item()` report the type that it reads, and every copy from a GPU to the host too, if `copies` is
/// true (they are not redirected).
void report_elements(bool copies);

}  // namespace jitc::torch_device

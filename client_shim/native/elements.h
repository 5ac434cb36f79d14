// Tells the interposer what numbers are copied to the host, so that a replay can compare them as numbers.
//
// Called by copy.cpp, where operators are redirected; elsewhere PyTorch's own kernels run inside such a scope
// (report_elements). Promise: a thread that is in no scope copies what is of unknown type.
#pragma once
#include <ATen/core/Tensor.h>

namespace jitc::torch_device {

/// Copies of the calling thread in this scope hold elements of this type.
class Elements {
 public:
  explicit Elements(c10::ScalarType type);
  ~Elements();
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
};

/// From now on `.item()` says what it reads, and where copies is true (nobody else serves them) so does every
/// copy from a GPU to the host.
void report_elements(bool copies);

}  // namespace jitc::torch_device

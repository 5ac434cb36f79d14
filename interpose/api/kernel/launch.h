// Launches: the parameter buffer is packed here, the op carries it to the worker.
//
// Used by launch.cpp (runtime API) and driver_launch.cpp. Promises: what a driver would refuse at the call
// is refused at the call; a launch of a known kernel takes no lock of ours and, with parameters of up to
// 4 KiB, does not allocate.
#pragma once
#include "api/common/abi_types.h"
#include "kernels.h"

namespace jitc::api {

struct Shape {
  Dim3 grid, block;
  uint64_t shared = 0;
};
/// One of: an array of pointers, one per parameter; or the packed buffer itself.
struct Arguments {
  void** pointers = nullptr;
  std::span<const std::byte> buffer;
};
/// What differs between the two APIs: their errors.
struct LaunchErrors {
  Status unknown_kernel, bad_shape;
};
using LaunchAttributes = std::span<const ops::LaunchAttribute>;

Status launch(uint64_t kernel, const Shape& shape, const Arguments& arguments, uint64_t stream,
              LaunchAttributes attributes, const LaunchErrors& errors);
/// The attributes that a configuration points to, without those that only give hints.
class AttributeList {
 public:
  Status read(const void* attributes, uint32_t count);
  operator LaunchAttributes() const { return {items_.data(), size_}; }

 private:
  static constexpr size_t kMost = 16;
  std::array<ops::LaunchAttribute, kMost> items_;
  size_t size_ = 0;
};
/// CU_LAUNCH_ATTRIBUTE_COOPERATIVE, set.
ops::LaunchAttribute cooperative_attribute();

}  // namespace jitc::api

// Kernel launches: packs the parameter buffer, which an op carries to the worker.
//
// Used by launch.cpp (runtime API) and driver_launch.cpp. Promises: a launch that a driver would refuse at
// the call is refused at the call, as far as launch_check.h can tell; a launch of a known kernel takes no
// lock before it is queued (except for look-ups about clusters and cooperative launches) and, with parameters
// of up to 4 KiB, does not allocate.
#pragma once
#include "api/common/abi_types.h"
#include "api/module/kernels.h"
#include "jitc/kernel_server.h"

namespace jitc::api {

struct Shape {
  Dim3 grid, block;
  uint64_t shared = 0;
};
/// Arguments: an array of pointers, one per parameter; or the packed buffer itself.
struct Arguments {
  void** pointers = nullptr;
  std::span<const std::byte> buffer;
};
/// Errors that differ between the two APIs.
struct LaunchErrors {
  Status unknown_kernel, bad_shape;
};
using LaunchAttributes = std::span<const ops::LaunchAttribute>;

/// Sets the server of kernels on a device that runs none (jitc/kernel_server.h); nullptr: none.
void set_kernel_server(jitc_kernel_server serve);

Status launch(uint64_t kernel, const Shape& shape, const Arguments& arguments, uint64_t stream,
              LaunchAttributes attributes, const LaunchErrors& errors);
/// Attributes that a configuration points to, without mere hints.
class AttributeList {
 public:
  Status read(const void* attributes, uint32_t count);
  operator LaunchAttributes() const { return {items_.data(), size_}; }

 private:
  static constexpr size_t kMost = 16;
  std::array<ops::LaunchAttribute, kMost> items_;
  size_t size_ = 0;
};
/// Returns CU_LAUNCH_ATTRIBUTE_COOPERATIVE, set.
ops::LaunchAttribute cooperative_attribute();

}  // namespace jitc::api

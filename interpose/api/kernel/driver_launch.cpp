// Launches of the driver API: parameters as pointers, or already packed.
#include "api/generated/generated_api.h"
#include "launch.h"

namespace jitc::api {
namespace {

constexpr LaunchErrors kDriverErrors{kInvalidResourceHandle, kInvalidValue};
enum Extra : uint64_t { kEnd = 0, kBufferPointer = 1, kBufferSize = 2 };

/// Reads the packed buffer that the extra list names: pairs of a key and a value, up to kEnd.
Status read_extra(void** extra, Arguments* out) {
  const void* buffer = nullptr;
  const size_t* size = nullptr;
  constexpr int kMostPairs = 4;
  for (int i = 0; i < kMostPairs; ++i, extra += 2) {
    switch (reinterpret_cast<uint64_t>(extra[0])) {
      case kEnd:
        if (!buffer || !size) return kInvalidValue;
        out->buffer = {static_cast<const std::byte*>(buffer), *size};
        return kSuccess;
      case kBufferPointer:
        buffer = extra[1];
        break;
      case kBufferSize:
        size = static_cast<const size_t*>(extra[1]);
        break;
      default:
        return kInvalidValue;
    }
  }
  return kInvalidValue;
}

Status driver_launch(uint64_t kernel, const Shape& shape, uint64_t stream, void** pointers, void** extra,
                     LaunchAttributes attributes) {
  Arguments arguments{pointers, {}};
  if (pointers && extra) return kInvalidValue;
  if (extra)
    if (const Status status = read_extra(extra, &arguments)) return status;
  return launch(kernel, shape, arguments, stream, attributes, kDriverErrors);
}

}  // namespace

int32_t cuLaunchKernel(uint64_t kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                       uint32_t block_y, uint32_t block_z, uint32_t shared, uint64_t stream, void** arguments,
                       void** extra) {
  const Shape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
  return driver_launch(kernel, shape, stream, arguments, extra, {});
}
int32_t cuLaunchCooperativeKernel(uint64_t kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                                  uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared,
                                  uint64_t stream, void** arguments) {
  const Shape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
  const auto cooperative = cooperative_attribute();
  return driver_launch(kernel, shape, stream, arguments, nullptr, {&cooperative, 1});
}
int32_t cuLaunchKernelEx(const void* config, uint64_t kernel, void** arguments, void** extra) {
  if (!config) return kInvalidValue;
  const auto& c = *static_cast<const DriverLaunchConfig*>(config);
  AttributeList attributes;
  if (const Status status = attributes.read(c.attributes, c.count)) return status;
  return driver_launch(kernel, {c.grid, c.block, c.shared}, c.stream, arguments, extra, attributes);
}

}  // namespace jitc::api

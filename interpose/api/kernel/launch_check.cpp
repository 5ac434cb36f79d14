// See launch_check.h.
#include "launch_check.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "occupancy.h"

namespace jitc::api {
namespace {

bool within(uint32_t value, uint32_t most) { return value - 1 < most; }

uint64_t product(const Dim3& of) { return uint64_t{of.x} * of.y * of.z; }

Status check_shape(const Function& function, const Shape& shape, Status bad_shape) {
  const auto& [blocks, threads] = std::pair(function.most_blocks, function.most_threads);
  if (!within(shape.grid.x, blocks[0]) || !within(shape.grid.y, blocks[1]) ||
      !within(shape.grid.z, blocks[2]))
    return bad_shape;
  if (!within(shape.block.x, threads[0]) || !within(shape.block.y, threads[1]) ||
      !within(shape.block.z, threads[2]))
    return bad_shape;
  const uint64_t in_block = product(shape.block);
  if (in_block > function.most_threads_in_block) return bad_shape;
  if (in_block > static_cast<uint64_t>(function.attributes[Function::kMaxThreads]))
    return kLaunchOutOfResources;
  const auto most = static_cast<uint64_t>(function.attributes[Function::kMaxDynamicShared]);
  return shape.shared > most ? kInvalidValue : kSuccess;
}

template <class Value>
std::optional<Value> value_of(LaunchAttributes attributes, uint32_t id) {
  for (const auto& one : attributes) {
    if (one.id != id) continue;
    Value value;
    std::memcpy(&value, one.value.data(), sizeof value);
    return value;
  }
  return std::nullopt;
}

bool divides(const Dim3& part, const Dim3& whole) {
  return part.x && part.y && part.z && whole.x % part.x == 0 && whole.y % part.y == 0 &&
         whole.z % part.z == 0;
}

/// Returns a query about the shape alone.
ops::FunctionQuery query_of(const Shape& shape) {
  ops::FunctionQuery query;
  query.block = static_cast<uint32_t>(product(shape.block));
  query.shared = shape.shared;
  return query;
}

/// Checks clusters. The grid of a kernel with its own clusters may be counted in clusters
/// (.blocksareclusters), which is not visible here: such a launch is left to the device.
Status check_cluster(Function& function, const Shape& shape, LaunchAttributes attributes) {
  const auto cluster = value_of<Dim3>(attributes, kClusterDimension);
  if (!cluster || function.attributes[Function::kClusterWidth]) return kSuccess;
  if (!divides(*cluster, shape.grid)) return kInvalidClusterSize;
  const auto preferred = value_of<Dim3>(attributes, kPreferredClusterDimension);
  if (preferred && (!divides(*cluster, *preferred) || !divides(*preferred, shape.grid)))
    return kInvalidClusterSize;
  if (product(*cluster) == 1) return kSuccess;
  auto query = query_of(shape);
  query.cluster = static_cast<uint32_t>(std::min<uint64_t>(product(*cluster), UINT32_MAX));
  uint64_t clusters = 0;
  const Status status = occupancy(function, ops::OccupancyKind::active_clusters, query, &clusters);
  const bool none = status == kSuccess && clusters == 0;
  return none || status == kInvalidClusterSize ? kInvalidClusterSize : kSuccess;
}

/// Checks that all blocks can be on the device at once.
Status check_cooperative(Function& function, const Shape& shape, LaunchAttributes attributes) {
  if (!value_of<int32_t>(attributes, kCooperative).value_or(0)) return kSuccess;
  uint64_t blocks = 0;
  if (occupancy(function, ops::OccupancyKind::active_blocks, query_of(shape), &blocks)) return kSuccess;
  const uint64_t grid = product(shape.grid);
  return grid > blocks * function.multiprocessors ? kCooperativeLaunchTooLarge : kSuccess;
}

}  // namespace

Status check_launch(Function& function, const Shape& shape, LaunchAttributes attributes, Status bad_shape) {
  if (const Status status = check_shape(function, shape, bad_shape)) return status;
  if (attributes.empty()) return kSuccess;
  if (const Status status = check_cluster(function, shape, attributes)) return status;
  return check_cooperative(function, shape, attributes);
}

}  // namespace jitc::api

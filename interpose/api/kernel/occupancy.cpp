// Number of a kernel's blocks that fit: queries of the program (PyTorch makes them before many launches). See
// occupancy.h.
#include "occupancy.h"

#include <algorithm>
#include <cstring>
#include <shared_mutex>

#include "api/generated/generated_api.h"
#include "jitc/packed_reader.h"
#include "launch.h"

namespace jitc::api {
namespace {

constexpr int kThreadsPerMultiprocessor = 1024;  // of the software device

bool same(const ops::FunctionQuery& a, const ops::FunctionQuery& b) {
  return a.kind == b.kind && a.block == b.block && a.shared == b.shared && a.flags == b.flags &&
         a.cluster == b.cluster;
}

bool known_answer(Function& function, const ops::FunctionQuery& query, uint64_t* answer) {
  const std::shared_lock lock(function.mutex);
  const auto found = std::find_if(function.occupancy.begin(), function.occupancy.end(),
                                  [&](const auto& one) { return same(one.asked, query); });
  if (found == function.occupancy.end()) return false;
  *answer = found->answer;
  return true;
}

void remember(Function& function, const ops::FunctionQuery& query, uint64_t answer) {
  constexpr size_t kMost = 64;  // the list stays short, even if a program tries many configurations
  const std::lock_guard lock(function.mutex);
  if (function.occupancy.size() >= kMost) function.occupancy.erase(function.occupancy.begin());
  function.occupancy.push_back({query, answer});
}

Status ask(Function* function, Status why, ops::OccupancyKind kind, const ops::FunctionQuery& query,
           uint64_t* answer) {
  return function ? occupancy(*function, kind, query, answer) : why;
}

Status active_blocks(uint64_t kernel, Status unknown, int32_t block, size_t shared, uint32_t flags,
                     int32_t* blocks) {
  if (!blocks || block <= 0) return kInvalidValue;
  Status status = kSuccess;
  Function* function = current_function(kernel, unknown, &status);
  ops::FunctionQuery query;
  query.block = static_cast<uint32_t>(block);
  query.shared = shared;
  query.flags = flags;
  uint64_t answer = 0;
  status = ask(function, status, ops::OccupancyKind::active_blocks, query, &answer);
  if (!status) *blocks = static_cast<int32_t>(answer);
  return status;
}

/// Returns the available memory. The field `cluster` carries the number of blocks.
Status available_shared(uint64_t kernel, Status unknown, int32_t blocks, int32_t block, size_t* shared) {
  if (!shared || blocks <= 0 || block <= 0) return kInvalidValue;
  Status status = kSuccess;
  Function* function = current_function(kernel, unknown, &status);
  ops::FunctionQuery query;
  query.block = static_cast<uint32_t>(block);
  query.cluster = static_cast<uint32_t>(blocks);
  uint64_t answer = 0;
  status = ask(function, status, ops::OccupancyKind::available_shared, query, &answer);
  if (!status) *shared = answer;
  return status;
}

/// Returns the blocks per cluster that the attributes request; 0: unspecified.
uint32_t cluster_of(LaunchAttributes attributes) {
  for (const auto& one : attributes) {
    if (one.id != kClusterDimension) continue;
    uint32_t dimension[3];
    std::memcpy(dimension, one.value.data(), sizeof dimension);
    return dimension[0] * dimension[1] * dimension[2];
  }
  return 0;
}

Status of_clusters(uint64_t kernel, Status unknown, ops::OccupancyKind kind, const Shape& shape,
                   const void* attributes, uint32_t count, int32_t* out) {
  AttributeList all;
  if (!out) return kInvalidValue;
  if (const Status status = all.read(attributes, count)) return status;
  Status status = kSuccess;
  Function* function = current_function(kernel, unknown, &status);
  ops::FunctionQuery query;
  query.block = shape.block.x * shape.block.y * shape.block.z;
  query.shared = shape.shared;
  query.cluster = cluster_of(all);
  uint64_t answer = 0;
  status = ask(function, status, kind, query, &answer);
  if (!status) *out = static_cast<int32_t>(answer);
  return status;
}

Status runtime_clusters(const void* host_function, ops::OccupancyKind kind, const void* config,
                        int32_t* out) {
  if (!config) return kInvalidValue;
  const auto& c = *static_cast<const RuntimeLaunchConfig*>(config);
  return of_clusters(reinterpret_cast<uint64_t>(host_function), kInvalidDeviceFunction, kind,
                     {c.grid, c.block, c.shared}, c.attributes, c.count, out);
}
Status driver_clusters(uint64_t kernel, ops::OccupancyKind kind, const void* config, int32_t* out) {
  if (!config) return kInvalidValue;
  const auto& c = *static_cast<const DriverLaunchConfig*>(config);
  return of_clusters(kernel, kInvalidResourceHandle, kind, {c.grid, c.block, c.shared}, c.attributes, c.count,
                     out);
}

}  // namespace

Status occupancy(Function& function, ops::OccupancyKind kind, ops::FunctionQuery query, uint64_t* answer) {
  query.function = function.handle;
  query.kind = static_cast<uint32_t>(kind);
  if (known_answer(function, query, answer)) return kSuccess;
  const session::Result result = function.session->call(query);
  if (result.status) return from_result(result.status);
  if (!unpack(result.payload, answer)) return kUnknown;
  remember(function, query, *answer);
  return kSuccess;
}

int32_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int32_t* blocks, const void* host_function,
                                                               int32_t block, size_t shared, uint32_t flags) {
  if (runs_kernels())
    return active_blocks(reinterpret_cast<uint64_t>(host_function), kInvalidDeviceFunction, block, shared,
                         flags, blocks);
  if (!blocks || block <= 0) return kInvalidValue;
  *blocks = kThreadsPerMultiprocessor / block;
  return kSuccess;
}
int32_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int32_t* blocks, const void* host_function,
                                                      int32_t block, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host_function, block, shared, 0);
}
int32_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared, const void* host_function, int32_t blocks,
                                                  int32_t block) {
  return available_shared(reinterpret_cast<uint64_t>(host_function), kInvalidDeviceFunction, blocks, block,
                          shared);
}
int32_t cudaOccupancyMaxActiveClusters(int32_t* answer, const void* host_function, const void* config) {
  return runtime_clusters(host_function, ops::OccupancyKind::active_clusters, config, answer);
}
int32_t cudaOccupancyMaxPotentialClusterSize(int32_t* answer, const void* host_function, const void* config) {
  return runtime_clusters(host_function, ops::OccupancyKind::potential_cluster, config, answer);
}

int32_t cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int32_t* blocks, uint64_t kernel, int32_t block,
                                                             size_t shared, uint32_t flags) {
  return active_blocks(kernel, kInvalidResourceHandle, block, shared, flags, blocks);
}
int32_t cuOccupancyMaxActiveBlocksPerMultiprocessor(int32_t* blocks, uint64_t kernel, int32_t block,
                                                    size_t shared) {
  return active_blocks(kernel, kInvalidResourceHandle, block, shared, 0, blocks);
}
int32_t cuOccupancyAvailableDynamicSMemPerBlock(size_t* shared, uint64_t kernel, int32_t blocks,
                                                int32_t block) {
  return available_shared(kernel, kInvalidResourceHandle, blocks, block, shared);
}
int32_t cuOccupancyMaxActiveClusters(int32_t* answer, uint64_t kernel, const void* config) {
  return driver_clusters(kernel, ops::OccupancyKind::active_clusters, config, answer);
}
int32_t cuOccupancyMaxPotentialClusterSize(int32_t* answer, uint64_t kernel, const void* config) {
  return driver_clusters(kernel, ops::OccupancyKind::potential_cluster, config, answer);
}

}  // namespace jitc::api

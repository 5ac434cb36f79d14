// Kernel launches and what a launch may look like (occupancy): the call refuses what cannot be on the device
// at once, as CUDA's documentation has it. Parameters arrive as pointers to each or as one buffer; the log
// shows them packed.
#include <algorithm>
#include <optional>
#include <span>

#include "call.h"
#include "functions.h"
#include "modules.h"

namespace jitc::fakes {
namespace {
constexpr unsigned kMostThreads = 1024;
constexpr int kDynamicShared = 8, kDefaultShared = 49152;
constexpr int kThreadsPerProcessor = 2048, kBlocksPerProcessor = 32, kSharedPerProcessor = 233472;
constexpr int kProcessors = 132, kMostCluster = 8, kMostClusterAllowed = 16;
/// CUlaunchAttributeID, CUfunction_attribute.
constexpr int kCooperative = 2, kClusterDimension = 4, kPreferredCluster = 11, kLastAttribute = 16;
constexpr int kLargeClusters = 14;
void* const kEnd = nullptr;
void* const kBuffer = reinterpret_cast<void*>(1);
void* const kBufferSize = reinterpret_cast<void*>(2);

using Bytes = std::vector<std::byte>;

Bytes gather(const Kernel& kernel, void** parameters) {
  Bytes packed(kernel.parameter_bytes());
  for (size_t each = 0; each < kernel.parameters.size(); ++each)
    std::memcpy(packed.data() + kernel.parameters[each].offset, needed(needed(parameters)[each]),
                kernel.parameters[each].size);
  return packed;
}

/// The pairs behind `extra`: a buffer and its size, in any order.
Bytes buffered(const Kernel& kernel, void** extra) {
  const void* buffer = nullptr;
  const size_t* size = nullptr;
  for (; *extra != kEnd; extra += 2) {
    if (*extra == kBuffer)
      buffer = extra[1];
    else if (*extra == kBufferSize)
      size = static_cast<const size_t*>(extra[1]);
    else
      throw Failure{kInvalidValue};
  }
  if (!size || (*size && !buffer) || *size < kernel.parameter_bytes()) throw Failure{kInvalidValue};
  const auto* bytes = static_cast<const std::byte*>(buffer);
  return {bytes, bytes + *size};
}

Bytes parameters_of(const Kernel& kernel, void** parameters, void** extra) {
  if (parameters && extra) throw Failure{kInvalidValue};
  return extra ? buffered(kernel, extra) : gather(kernel, parameters);
}

int most_shared(const Function& function) {
  const auto set = function.attributes.find(kDynamicShared);
  return set == function.attributes.end() ? kDefaultShared : set->second;
}

void check_shape(const Function& function, const std::array<unsigned, 7>& shape) {
  const bool empty = std::any_of(shape.begin(), shape.begin() + 6, [](unsigned each) { return each == 0; });
  const bool wide = shape[1] > 65535 || shape[2] > 65535 || shape[5] > 64;
  const uint64_t threads = uint64_t{shape[3]} * shape[4] * shape[5];
  if (empty || wide || threads > kMostThreads || shape[6] > static_cast<unsigned>(most_shared(function)))
    throw Failure{kInvalidValue};
}

int blocks(const Function& function, int threads, size_t shared) {
  if (threads <= 0) throw Failure{kInvalidValue};
  if (threads > static_cast<int>(kMostThreads) || shared > static_cast<size_t>(most_shared(function)))
    return 0;
  int most = std::min(kBlocksPerProcessor, kThreadsPerProcessor / threads);
  if (shared) most = std::min<int>(most, kSharedPerProcessor / static_cast<int>(shared));
  return most;
}

using Attributes = std::span<const CUlaunchAttribute>;
using Dimensions = std::array<unsigned, 3>;

template <class Value>
std::optional<Value> value_of(Attributes attributes, int id) {
  for (const CUlaunchAttribute& one : attributes) {
    if (one.id != id) continue;
    Value value;
    std::memcpy(&value, one.value, sizeof value);
    return value;
  }
  return std::nullopt;
}

/// Whether each is a multiple of the other's, which is not 0.
bool divides(const Dimensions& part, const Dimensions& whole) {
  for (size_t each = 0; each < part.size(); ++each)
    if (!part[each] || whole[each] % part[each]) return false;
  return true;
}

/// Clusters cover the grid, and each is on one part of the device.
void check_cluster(const Function& function, const Dimensions& grid, Attributes attributes) {
  const auto cluster = value_of<Dimensions>(attributes, kClusterDimension);
  if (!cluster) return;
  const auto allowed = function.attributes.find(kLargeClusters);
  const bool large = allowed != function.attributes.end() && allowed->second;
  const uint64_t size = uint64_t{(*cluster)[0]} * (*cluster)[1] * (*cluster)[2];
  if (!divides(*cluster, grid) || size > static_cast<uint64_t>(large ? kMostClusterAllowed : kMostCluster))
    throw Failure{kInvalidClusterSize};
  const auto preferred = value_of<Dimensions>(attributes, kPreferredCluster);
  if (preferred && (!divides(*cluster, *preferred) || !divides(*preferred, grid)))
    throw Failure{kInvalidClusterSize};
}

/// All blocks of a cooperative launch have to be on the device at once.
void check_cooperative(const Function& function, const std::array<unsigned, 7>& shape,
                       Attributes attributes) {
  if (!value_of<int>(attributes, kCooperative).value_or(0)) return;
  const auto threads = static_cast<int>(shape[3] * shape[4] * shape[5]);
  const uint64_t grid = uint64_t{shape[0]} * shape[1] * shape[2];
  if (grid > uint64_t{kProcessors} * static_cast<uint64_t>(blocks(function, threads, shape[6])))
    throw Failure{kCooperativeTooLarge};
}

void check_attributes(const Function& function, const std::array<unsigned, 7>& shape, Attributes attributes) {
  for (const CUlaunchAttribute& one : attributes)
    if (one.id < 0 || one.id > kLastAttribute) throw Failure{kInvalidValue};
  check_cluster(function, {shape[0], shape[1], shape[2]}, attributes);
  check_cooperative(function, shape, attributes);
}

int launch(const char* name, CUfunction handle, std::array<unsigned, 7> shape, CUstream stream,
           void** parameters, void** extra, Attributes attributes = {},
           std::initializer_list<Field> more = {}) {
  return call(name, Needs::context, {Field::address("function", handle), Field::address("stream", stream)},
              [&](Call& call) {
                const auto lock = locked();
                Context& context = call.context();
                const Function& function = function_of(handle);
                if (function.module->context.get() != &context) throw Failure{kInvalidHandle};
                const Kernel& kernel = *function.kernel;
                Bytes packed = parameters_of(kernel, parameters, extra);
                call.note(Field::text("kernel", function.name.c_str()));
                call.note(Field::bytes("parameters", packed.data(), packed.size()));
                call.note(Field::bytes("shape", shape.data(), sizeof shape));
                for (const Field& field : more) call.note(field);
                check_shape(function, shape);
                check_attributes(function, shape, attributes);
                const auto one = std::make_shared<const Launch>(
                    Launch{context, *function.module, std::move(packed), shape});
                context.submit(
                    context.stream(stream), kernel.name,
                    [&kernel, one, module = function.module] { kernel.body(*one); },
                    [&kernel, one] { return kernel.cost ? kernel.cost(*one) : Cost{Cost::kCompute}; });
              });
}

Attributes attributes_of(const CUlaunchConfig* config) { return {config->attrs, config->numAttrs}; }
Dimensions grid_of(const CUlaunchConfig* config) {
  return {config->gridDimX, config->gridDimY, config->gridDimZ};
}

int max_blocks(const char* name, int* out, CUfunction function, int threads, size_t shared) {
  return call(
      name, Needs::context,
      {Field::address("function", function), Field::real("threads", threads), Field::count("shared", shared)},
      [&](Call&) {
        const auto lock = locked();
        *needed(out) = blocks(function_of(function), threads, shared);
      });
}

int potential_block(const char* name, int* grid, int* block, CUfunction function, int limit) {
  return call(name, Needs::context, {Field::address("function", function), Field::real("limit", limit)},
              [&](Call&) {
                const auto lock = locked();
                const int threads = limit > 0 ? std::min(limit, int{kMostThreads}) : int{kMostThreads};
                *needed(block) = threads;
                *needed(grid) = kProcessors * blocks(function_of(function), threads, 0);
              });
}
}  // namespace

int cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters,
                   void** extra) {
  return launch("cuLaunchKernel", function, {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared},
                stream, parameters, extra);
}

int cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                              CUstream stream, void** parameters) {
  CUlaunchAttribute cooperative{kCooperative, {}, {1}};
  return launch("cuLaunchCooperativeKernel", function,
                {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared}, stream, parameters, nullptr,
                {&cooperative, 1});
}

int cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (!config || (config->numAttrs && !config->attrs)) return kInvalidValue;
  return launch("cuLaunchKernelEx", function,
                {config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
                 config->blockDimZ, config->sharedMemBytes},
                config->hStream, parameters, extra, attributes_of(config),
                {Field::bytes("attributes", config->attrs, config->numAttrs * sizeof(CUlaunchAttribute))});
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, CUfunction function, int threads, size_t shared) {
  return max_blocks("cuOccupancyMaxActiveBlocksPerMultiprocessor", out, function, threads, shared);
}
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, CUfunction function, int threads,
                                                         size_t shared, unsigned) {
  return max_blocks("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", out, function, threads, shared);
}
int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize, size_t,
                                     int limit) {
  return potential_block("cuOccupancyMaxPotentialBlockSize", grid, block, function, limit);
}
int cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function, CUoccupancyB2DSize,
                                              size_t, int limit, unsigned) {
  return potential_block("cuOccupancyMaxPotentialBlockSizeWithFlags", grid, block, function, limit);
}

int cuOccupancyMaxActiveClusters(int* out, CUfunction function, const CUlaunchConfig* config) {
  return call("cuOccupancyMaxActiveClusters", Needs::context, {Field::address("function", function)},
              [&](Call&) {
                const auto lock = locked();
                check_cluster(function_of(function), grid_of(needed(config)), attributes_of(config));
                *needed(out) = kProcessors / kMostCluster;
              });
}
int cuOccupancyMaxPotentialClusterSize(int* out, CUfunction function, const CUlaunchConfig* config) {
  return call("cuOccupancyMaxPotentialClusterSize", Needs::context, {Field::address("function", function)},
              [&](Call&) {
                const auto lock = locked();
                function_of(function);
                needed(config);
                *needed(out) = kMostCluster;
              });
}
int cuOccupancyAvailableDynamicSMemPerBlock(size_t* out, CUfunction function, int count, int threads) {
  return call(
      "cuOccupancyAvailableDynamicSMemPerBlock", Needs::context,
      {Field::address("function", function), Field::real("blocks", count), Field::real("threads", threads)},
      [&](Call&) {
        if (count <= 0) throw Failure{kInvalidValue};
        const auto lock = locked();
        *needed(out) =
            static_cast<size_t>(std::min(most_shared(function_of(function)), kSharedPerProcessor / count));
      });
}

}  // namespace jitc::fakes

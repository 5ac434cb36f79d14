#include "launch.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "api/generated/generated_api.h"
#include "api/module/registration.h"
#include "api/process/pytorch.h"
#include "api/stream/stream.h"
#include "launch_check.h"
#include "session/message.h"

namespace jitc::api {
namespace {

constexpr LaunchErrors kRuntimeErrors{kInvalidDeviceFunction, kInvalidConfiguration};

/// Attributes whose meaning does not depend on the process.
constexpr uint32_t kCarried[] = {kCooperative,
                                 kClusterDimension,
                                 kClusterSchedulingPolicy,
                                 kProgrammaticStreamSerialization,
                                 kLaunchPriority,
                                 kMemorySyncDomainMap,
                                 kMemorySyncDomain,
                                 kPreferredClusterDimension,
                                 kPreferredSharedCarveout};
/// Attributes that affect at most a launch's speed.
constexpr uint32_t kHints[] = {kIgnore, kAccessPolicyWindow, kSynchronizationPolicy,
                               kNvlinkCentricScheduling};

bool contains(std::span<const uint32_t> all, uint32_t one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Returns the text without the parameter list at its end.
std::string_view without_parameters(std::string_view text) {
  int depth = 0;
  for (size_t at = text.size(); at-- > 0;) {
    depth += text[at] == ')' ? 1 : text[at] == '(' ? -1 : 0;
    if (depth == 0) return text[at] == '(' ? text.substr(0, at) : text;
  }
  return text;
}

/// Returns the name as in the source.
std::string readable(const char* name) {
  if (!name) return "(not registered)";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return std::string(status || !plain ? name : without_parameters(plain.get()));
}

std::atomic<jitc_kernel_server> kernel_server{nullptr};

/// Refuses a kernel. PyTorch's own kernels are launched if an operator was not redirected.
Status refuse_launch(const char* kernel) {
  const std::string name = readable(kernel);
  const bool pytorch = name.find("at::native::") != std::string::npos;
  const std::string missing = pytorch ? why_without_shim() : std::string();
  const std::string why =
      "the software device runs no GPU kernels, and this is one: " + name +
      (pytorch ? ". PyTorch's operators run there on their CPU kernels where there is one" : "") +
      (missing.empty() ? "" : ", by jitc's client_shim, and " + missing) +
      ". Use a GPU (jitc-proxyd --device cuda), or do without it (docs/guarantees.md, \"Operators that the"
      " software device does not have\")";
  session::message_once(why);
  keep_refusal(why);
  return kNotSupported;
}

/// Handles the launch on a device that runs no kernels.
Status serve_or_refuse(uint64_t kernel, void** arguments, uint64_t stream) {
  const char* name = registered_name(reinterpret_cast<const void*>(kernel));
  if (const auto serve = kernel_server.load(); serve && name) {
    const Status status = serve(name, current_device(), reinterpret_cast<void*>(stream), arguments);
    if (status != kNotSupported) return status;
  }
  return refuse_launch(name);
}

/// Memory for attributes and parameters of a launch: on the stack, unless there are unusually many.
class Payload {
 public:
  explicit Payload(size_t size) : size_(size) {
    if (size > sizeof small_) large_ = std::make_unique<std::byte[]>(size);
  }
  std::byte* data() { return large_ ? large_.get() : small_; }
  std::span<const std::byte> bytes() { return {data(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<std::byte[]> large_;
  std::byte small_[5120];
};

/// Writes buffer_bytes, with zeros in the gaps between parameters, so that no other bytes of this process
/// leave it.
Status pack(const Function& function, const Arguments& arguments, std::byte* out) {
  if (!arguments.buffer.empty()) {
    if (arguments.buffer.size() < function.buffer_bytes) return kInvalidValue;
    if (function.buffer_bytes) std::memcpy(out, arguments.buffer.data(), function.buffer_bytes);
    return kSuccess;
  }
  if (function.parameters.empty()) return kSuccess;
  if (!arguments.pointers) return kInvalidValue;
  std::memset(out, 0, function.buffer_bytes);
  for (size_t i = 0; i < function.parameters.size(); ++i)
    std::memcpy(out + function.parameters[i].offset, arguments.pointers[i], function.parameters[i].bytes);
  return kSuccess;
}

Status submit(const Function& function, const Shape& shape, const Arguments& arguments, uint64_t stream,
              LaunchAttributes attributes) {
  Payload payload(attributes.size_bytes() + function.buffer_bytes);
  if (!attributes.empty()) std::memcpy(payload.data(), attributes.data(), attributes.size_bytes());
  if (const Status status = pack(function, arguments, payload.data() + attributes.size_bytes()))
    return status;
  auto op = on_stream<ops::KernelLaunch>(stream);
  op.function = function.handle;
  op.grid_x = shape.grid.x;
  op.grid_y = shape.grid.y;
  op.grid_z = shape.grid.z;
  op.block_x = shape.block.x;
  op.block_y = shape.block.y;
  op.block_z = shape.block.z;
  op.shared = static_cast<uint32_t>(shape.shared);
  op.attributes = static_cast<uint32_t>(attributes.size());
  op.parameters = function.buffer_bytes;
  return submitted(*function.session, function.session->submit(op, payload.bytes()));
}

struct CallConfiguration {
  Shape shape;
  uint64_t stream;
};
thread_local std::vector<CallConfiguration> configurations;

}  // namespace

void set_kernel_server(jitc_kernel_server serve) { kernel_server = serve; }

ops::LaunchAttribute cooperative_attribute() {
  ops::LaunchAttribute out;
  out.id = kCooperative;
  out.value[0] = 1;
  return out;
}

Status AttributeList::read(const void* attributes, uint32_t count) {
  if (count && !attributes) return kInvalidValue;
  for (uint32_t i = 0; i < count; ++i) {
    const auto& one = static_cast<const ops::LaunchAttribute*>(attributes)[i];
    if (contains(kHints, one.id)) continue;
    if (!contains(kCarried, one.id)) {
      session::message_once(
          "launch attribute " + std::to_string(one.id) +
          " (CUlaunchAttributeID) is not supported: events can be recorded behind the launch, "
          "graphs captured again");
      return kNotSupported;
    }
    if (size_ == kMost) return kInvalidValue;
    items_[size_] = one;
    items_[size_++].reserved = 0;
  }
  return kSuccess;
}

Status launch(uint64_t kernel, const Shape& shape, const Arguments& arguments, uint64_t stream,
              LaunchAttributes attributes, const LaunchErrors& errors) {
  StreamRef ref;
  Status status = resolve_stream(stream, &ref);
  if (status) return status;
  Kernel* known = find_kernel(kernel);
  if (!known) return errors.unknown_kernel;
  Function* function = known->on(*ref.session, ref.device, &status);
  if (!function) return status;
  status = check_launch(*function, shape, attributes, errors.bad_shape);
  return status ? status : submit(*function, shape, arguments, ref.id, attributes);
}

int32_t __cudaLaunchKernel(uint64_t kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared,
                           uint64_t stream) {
  if (!runs_kernels()) return serve_or_refuse(kernel, arguments, stream);
  return launch(kernel, {grid, block, shared}, {arguments, {}}, stream, {}, kRuntimeErrors);
}
int32_t cudaLaunchCooperativeKernel(uint64_t kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared,
                                    uint64_t stream) {
  if (!runs_kernels()) return serve_or_refuse(kernel, arguments, stream);
  const auto cooperative = cooperative_attribute();
  return launch(kernel, {grid, block, shared}, {arguments, {}}, stream, {&cooperative, 1}, kRuntimeErrors);
}
int32_t cudaLaunchKernelExC(const void* config, uint64_t kernel, void** arguments) {
  if (!config) return kInvalidValue;
  const auto& c = *static_cast<const RuntimeLaunchConfig*>(config);
  if (!runs_kernels()) return serve_or_refuse(kernel, arguments, c.stream);
  AttributeList attributes;
  if (const Status status = attributes.read(c.attributes, c.count)) return status;
  return launch(kernel, {c.grid, c.block, c.shared}, {arguments, {}}, c.stream, attributes, kRuntimeErrors);
}

uint32_t __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, uint64_t stream) {
  configurations.push_back({{grid, block, shared}, stream});
  return 0;
}
int32_t __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, uint64_t* stream) {
  if (configurations.empty()) return kMissingConfiguration;
  const CallConfiguration& top = configurations.back();
  if (grid) *grid = top.shape.grid;
  if (block) *block = top.shape.block;
  if (shared) *shared = top.shape.shared;
  if (stream) *stream = top.stream;
  configurations.pop_back();
  return kSuccess;
}

}  // namespace jitc::api

// See kernel_handlers.h.
#include "kernel_handlers.h"

#include <algorithm>

#include "device/common/operands.h"
#include "device/cuda/module/tensor_map.h"

namespace jitc::cuda {
namespace {

static_assert(sizeof(abi::CUlaunchAttribute) == sizeof(ops::LaunchAttribute));
static_assert(offsetof(abi::CUlaunchAttribute, value) == offsetof(ops::LaunchAttribute, value));

/// Attributes whose value means the same in another process and at another time: no pointers, no events.
constexpr int32_t kKnownAttributes[] = {
    abi::kLaunchIgnore,
    abi::kLaunchCooperative,
    abi::kLaunchClusterDimension,
    abi::kLaunchClusterPolicy,
    abi::kLaunchProgrammaticSerialization,
    abi::kLaunchPriority,
    abi::kLaunchMemoryDomainMap,
    abi::kLaunchMemoryDomain,
    abi::kLaunchPreferredCluster,
    abi::kLaunchCarveout,
};

void check_attributes(std::span<const abi::CUlaunchAttribute> attributes) {
  for (const auto& one : attributes)
    if (std::find(std::begin(kKnownAttributes), std::end(kKnownAttributes), one.id) ==
        std::end(kKnownAttributes))
      refuse(kNotSupported, "launch-attribute",
             "launch attribute " + std::to_string(one.id) + " (CUlaunchAttributeID) is not supported");
}

}  // namespace

void KernelHandlers::launch(const ops::KernelLaunch& op) {
  const uint64_t payload = payload_of(op).size();
  if (op.attributes > payload / sizeof(ops::LaunchAttribute) ||
      op.parameters > payload - op.attributes * sizeof(ops::LaunchAttribute))
    refuse_value("the launch is cut off");
  const Function& function = modules_.function(op.function);
  if (op.parameters < function.parameters)
    refuse_value("kernel " + function.name + " has " + std::to_string(function.parameters) +
                 " bytes of parameters, the launch brings " + std::to_string(op.parameters));
  const auto* const attributes = reinterpret_cast<const abi::CUlaunchAttribute*>(&op + 1);
  check_attributes({attributes, op.attributes});
  const Driver& driver = issuer_.driver();
  Stream& stream = issuer_.stream_of(op.header);
  const abi::CUlaunchConfig config{
      op.grid_x,    op.grid_y,     op.grid_z,
      op.block_x,   op.block_y,    op.block_z,
      op.shared,    stream.real(), const_cast<abi::CUlaunchAttribute*>(attributes),
      op.attributes};
  size_t bytes = op.parameters;
  void* const buffer = const_cast<abi::CUlaunchAttribute*>(attributes + op.attributes);
  void* extra[] = {abi::kLaunchParameters, buffer, abi::kLaunchParametersSize, &bytes,
                   abi::kLaunchParametersEnd};
  const auto status = driver.cuLaunchKernelEx(&config, function.real, nullptr, bytes ? extra : nullptr);
  if (status != 0) throw error_of(driver, ("launch of kernel " + function.name).c_str(), status);
  issuer_.submitted(stream, op.header);
}

void KernelHandlers::encode_tensor_map(const ops::TensorMap& op) {
  const TensorMapBytes map = tensor_map(issuer_.driver(), op);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, map.bytes);
}

}  // namespace jitc::cuda

// Placing of kernel launches. See device.h. Parameters travel as one buffer, laid out as the kernel wants it.
#include <algorithm>

#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"

namespace jitc::cuda {
namespace {

static_assert(sizeof(abi::CUlaunchAttribute) == sizeof(ops::LaunchAttribute));
static_assert(offsetof(abi::CUlaunchAttribute, value) == offsetof(ops::LaunchAttribute, value));

/// Those whose value means the same in another process and at another time: no pointers, no events.
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

void Device::place_kernel_launch(const ops::OpHeader& op) {
  const auto& launch = as<ops::KernelLaunch>(op);
  const uint64_t payload = op.size - sizeof launch;
  if (launch.attributes > payload / sizeof(ops::LaunchAttribute) ||
      launch.parameters > payload - launch.attributes * sizeof(ops::LaunchAttribute))
    refuse_value("the launch is cut off");
  const Function& function = modules_->function(launch.function);
  if (launch.parameters < function.parameters)
    refuse_value("kernel " + function.name + " has " + std::to_string(function.parameters) +
                 " bytes of parameters, the launch brings " + std::to_string(launch.parameters));
  const auto* const attributes = reinterpret_cast<const abi::CUlaunchAttribute*>(&launch + 1);
  check_attributes({attributes, launch.attributes});
  Stream& stream = stream_of(op);
  const abi::CUlaunchConfig config{
      launch.grid_x,    launch.grid_y,  launch.grid_z,
      launch.block_x,   launch.block_y, launch.block_z,
      launch.shared,    stream.real(),  const_cast<abi::CUlaunchAttribute*>(attributes),
      launch.attributes};
  size_t bytes = launch.parameters;
  void* const buffer = const_cast<abi::CUlaunchAttribute*>(attributes + launch.attributes);
  void* extra[] = {abi::kLaunchParameters, buffer, abi::kLaunchParametersSize, &bytes,
                   abi::kLaunchParametersEnd};
  const auto status = driver().cuLaunchKernelEx(&config, function.real, nullptr, bytes ? extra : nullptr);
  if (status != 0) throw error_of(driver(), ("launch of kernel " + function.name).c_str(), status);
  submitted(stream, op);
}

}  // namespace jitc::cuda

// See modules.h.
#include "modules.h"

#include <algorithm>
#include <cstring>

#include "device/common/image/image_check.h"
#include "device/cuda/driver/error.h"
#include "jitc/variable_alias.h"

namespace jitc::cuda {
namespace {
constexpr size_t kMostParameters = 8192;

static_assert(sizeof(ops::FunctionInfo) == abi::kFunctionAttributes * sizeof(int32_t) + sizeof(uint64_t));
}  // namespace

// -- one module ----------------------------------------------------------------------------------------

Module::Module(std::shared_ptr<Context> context, std::span<const std::byte> image)
    : context_(std::move(context)) {
  const Driver& driver = context_->driver();
  const ImageKind kind = kind_of_image(image);
  if (kind == ImageKind::damaged) refuse(kInvalidKernelImage, "invalid-image", "the module image is cut off");
  // Text is read up to a zero, which need not be part of the image.
  std::string text;
  if (kind == ImageKind::text) text.assign(reinterpret_cast<const char*>(image.data()), image.size());
  const void* const from = kind == ImageKind::text ? text.c_str() : static_cast<const void*>(image.data());
  check(driver, "cuModuleLoadData", driver.cuModuleLoadData(&real_, from));
}

Module::~Module() {
  if (!real_ || context_->bind() != 0) return;
  context_->driver().cuModuleUnload(real_);
}

abi::CUfunction Module::function(const std::string& name) const {
  abi::CUfunction function = nullptr;
  const auto status = context_->driver().cuModuleGetFunction(&function, real_, name.c_str());
  if (status != 0) throw error_of(context_->driver(), ("kernel " + name).c_str(), status);
  return function;
}

std::pair<uint64_t, uint64_t> Module::variable(const std::string& name) const {
  abi::CUdeviceptr address = 0;
  size_t bytes = 0;
  const auto status = context_->driver().cuModuleGetGlobal(&address, &bytes, real_, name.c_str());
  if (status != 0) throw error_of(context_->driver(), ("variable " + name).c_str(), status);
  return {address, bytes};
}

void Module::set(abi::CUfunction function, int32_t attribute, int32_t value) {
  const Driver& driver = context_->driver();
  if (!initial_.contains({function, attribute})) {
    int32_t initial = 0;
    check(driver, "cuFuncGetAttribute", driver.cuFuncGetAttribute(&initial, attribute, function));
    check(driver, "cuFuncSetAttribute", driver.cuFuncSetAttribute(function, attribute, value));
    initial_[{function, attribute}] = initial;
    return;
  }
  check(driver, "cuFuncSetAttribute", driver.cuFuncSetAttribute(function, attribute, value));
}

void Module::reset_attributes() {
  const Driver& driver = context_->driver();
  for (const auto& [one, value] : initial_)
    check(driver, "cuFuncSetAttribute", driver.cuFuncSetAttribute(one.first, one.second, value));
  initial_.clear();
}

// -- all of them ---------------------------------------------------------------------------------------

Modules::Modules(std::shared_ptr<Context> context, ImageSource& images, Memory& memory)
    : context_(std::move(context)), limits_(context_->limits()), images_(images), memory_(memory) {}

std::shared_ptr<Module> Modules::read(const ImageHash& hash, uint64_t bytes) const {
  std::string error;
  const auto image = images_.image(hash, bytes, error);
  if (!error.empty() || image.empty()) refuse(kInvalidKernelImage, "no-image", error);
  return std::make_shared<Module>(context_, image);
}

void Modules::load(uint64_t handle, const ImageHash& hash, uint64_t bytes) {
  if (modules_.contains(handle)) refuse_handle("module " + hex(handle) + " exists already");
  modules_.emplace(handle, Loaded{handle, hash, read(hash, bytes)});
}

void Modules::unload(uint64_t handle) {
  const auto found = modules_.find(handle);
  if (found == modules_.end()) refuse_handle("module " + hex(handle) + " does not exist");
  std::erase_if(functions_, [&](const auto& one) { return one.second.module == handle; });
  std::erase_if(variables_, [&](const auto& one) {
    if (one.second == handle) memory_.driver_ranges().remove(one.first);
    return one.second == handle;
  });
  unloaded_.push_back(std::move(found->second));
  modules_.erase(found);
}

Module& Modules::find(uint64_t handle) const {
  const auto found = modules_.find(handle);
  if (found == modules_.end()) refuse_handle("module " + hex(handle) + " does not exist");
  return *found->second.module;
}

const Function& Modules::function(uint64_t handle) const {
  const auto found = functions_.find(handle);
  if (found == functions_.end()) refuse_handle("function " + hex(handle) + " does not exist");
  return found->second;
}

// -- kernels -------------------------------------------------------------------------------------------

/// Returns an attribute; 0 if an old driver or GPU does not know it.
int32_t Modules::attribute(abi::CUfunction function, int32_t attribute) const {
  int32_t value = 0;
  const auto status = driver().cuFuncGetAttribute(&value, attribute, function);
  if (status == static_cast<int32_t>(kInvalidValue) && attribute >= abi::kFirstClusterAttribute) return 0;
  check(driver(), "cuFuncGetAttribute", status);
  return value;
}

std::vector<ops::FunctionParameter> Modules::parameters(abi::CUfunction function) const {
  if (!driver().cuFuncGetParamInfo)
    refuse(kNotSupported, "old-driver",
           "the CUDA driver does not tell what parameters a kernel has (cuFuncGetParamInfo): version 12.4 or "
           "newer is needed, this one is " +
               std::to_string(driver().version() / 1000) + "." +
               std::to_string(driver().version() % 1000 / 10));
  std::vector<ops::FunctionParameter> list;
  for (size_t index = 0; index < kMostParameters; ++index) {
    size_t offset = 0, bytes = 0;
    const auto status = driver().cuFuncGetParamInfo(function, index, &offset, &bytes);
    if (status == static_cast<int32_t>(kInvalidValue)) break;  // there are no more
    check(driver(), "cuFuncGetParamInfo", status);
    list.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
  }
  return list;
}

std::vector<std::byte> Modules::add_function(uint64_t handle, uint64_t module, const std::string& name) {
  if (functions_.contains(handle)) refuse_handle("function " + hex(handle) + " exists already");
  Function function = make_function(module, name);
  const auto list = parameters(function.real);
  std::array<int32_t, abi::kFunctionAttributes> attributes;
  for (int32_t one = 0; one < abi::kFunctionAttributes; ++one)
    attributes[one] = attribute(function.real, one);
  functions_.emplace(handle, std::move(function));
  const uint64_t count = list.size();
  std::vector<std::byte> info(sizeof(ops::FunctionInfo) + count * sizeof(ops::FunctionParameter));
  std::memcpy(info.data(), attributes.data(), sizeof(attributes));
  std::memcpy(info.data() + sizeof(attributes), &count, sizeof(count));
  if (count) std::memcpy(info.data() + sizeof(ops::FunctionInfo), list.data(), count * sizeof(list[0]));
  return info;
}

Function Modules::make_function(uint64_t module, const std::string& name) const {
  Function function{module, name, find(module).function(name), 0};
  for (const auto& one : parameters(function.real))
    function.parameters = std::max<uint64_t>(function.parameters, uint64_t{one.offset} + one.bytes);
  return function;
}

void Modules::set_attribute(uint64_t handle, int32_t attribute, int32_t value) {
  const Function& one = function(handle);
  find(one.module).set(one.real, attribute, value);
}

uint64_t Modules::query(const ops::FunctionQuery& query) const {
  const Function& one = function(query.function);
  const auto block = static_cast<int32_t>(query.block);
  switch (static_cast<ops::OccupancyKind>(query.kind)) {
    case ops::OccupancyKind::active_blocks: {
      int32_t blocks = 0;
      check(driver(), "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            driver().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, one.real, block,
                                                                          query.shared, query.flags));
      return static_cast<uint64_t>(blocks);
    }
    case ops::OccupancyKind::available_shared: {
      size_t bytes = 0;  // the number of blocks replaces the cluster
      check(driver(), "cuOccupancyAvailableDynamicSMemPerBlock",
            driver().cuOccupancyAvailableDynamicSMemPerBlock(&bytes, one.real,
                                                             static_cast<int32_t>(query.cluster), block));
      return bytes;
    }
    case ops::OccupancyKind::potential_cluster:
    case ops::OccupancyKind::active_clusters:
      return query_clusters(query, one.real);
  }
  refuse_value("unknown kind of occupancy " + std::to_string(query.kind));
}

uint64_t Modules::query_clusters(const ops::FunctionQuery& query, abi::CUfunction function) const {
  abi::CUlaunchAttribute cluster{};
  cluster.id = abi::kLaunchClusterDimension;
  const uint32_t dimension[3] = {query.cluster, 1, 1};
  std::memcpy(cluster.value, dimension, sizeof(dimension));
  abi::CUlaunchConfig config{};
  config.gridDimX = std::max(query.cluster, 1u);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = query.block;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<uint32_t>(query.shared);
  config.attrs = &cluster;
  config.numAttrs = query.cluster ? 1 : 0;
  int32_t answer = 0;
  if (static_cast<ops::OccupancyKind>(query.kind) == ops::OccupancyKind::potential_cluster)
    check(driver(), "cuOccupancyMaxPotentialClusterSize",
          driver().cuOccupancyMaxPotentialClusterSize(&answer, function, &config));
  else
    check(driver(), "cuOccupancyMaxActiveClusters",
          driver().cuOccupancyMaxActiveClusters(&answer, function, &config));
  return static_cast<uint64_t>(answer);
}

// -- variables -----------------------------------------------------------------------------------------

std::pair<uint64_t, uint64_t> Modules::variable(uint64_t module, const std::string& name) {
  const auto found = find(module).variable(name);
  if (variables_.emplace(found.first, module).second)
    memory_.driver_ranges().add(found.first, found.second, found.first);
  return found;
}

uint64_t Modules::set_limit(int32_t limit, uint64_t value) {
  size_t in_force = 0;
  check(driver(), "cuCtxSetLimit", limits_.set(limit, value, &in_force));
  return in_force;
}

/// Sets limits before modules are loaded: the driver accepts a heap size only until a kernel has used it.
void Modules::restore_limits(const Resources& wanted) {
  std::set<int32_t> numbers;
  for (const auto& one : wanted.limits) numbers.insert(static_cast<int32_t>(one.limit));
  limits_.clear(numbers);
  for (const auto& one : wanted.limits) set_limit(static_cast<int32_t>(one.limit), one.value);
}

uint64_t Modules::variable_behind(uint64_t alias, uint64_t module, const std::string& name) {
  const auto [real, bytes] = find(module).variable(name);
  if (!is_alias(alias, bytes)) refuse_value(hex(alias) + " cannot stand for the device variable " + name);
  if (!variables_.emplace(alias, module).second) refuse_value("the alias " + hex(alias) + " exists already");
  memory_.driver_ranges().add(alias, bytes, real);
  return bytes;
}

void Modules::restore_variable(const Resources::Variable& wanted) {
  if (is_aliased(wanted.address)) {
    variable_behind(wanted.address, wanted.module, wanted.name);
    return;
  }
  const auto [address, bytes] = variable(wanted.module, wanted.name);
  if (address == wanted.address && bytes == wanted.bytes) return;
  refuse(kUnknown, "variable-moved",
         "the device variable " + wanted.name + " is at " + hex(address) + " (" + std::to_string(bytes) +
             " bytes) after the module was loaded again, the program knows it at " + hex(wanted.address) +
             " (" + std::to_string(wanted.bytes) + " bytes)");
}

// -- restored ------------------------------------------------------------------------------------------

/// Returns the module, if the driver still has it; else loads it again.
std::shared_ptr<Module> Modules::take(const Resources::Module& wanted) {
  const auto same = [&](const Loaded& one) { return one.handle == wanted.handle && one.hash == wanted.hash; };
  const auto found = std::find_if(unloaded_.begin(), unloaded_.end(), same);
  if (found == unloaded_.end()) return read(wanted.hash, wanted.bytes);
  const auto module = std::move(found->module);
  unloaded_.erase(found);
  module->reset_attributes();
  return module;
}

void Modules::restore(const Resources& wanted) {
  functions_.clear();
  for (const auto& [address, module] : variables_) memory_.driver_ranges().remove(address);
  variables_.clear();
  for (auto& [handle, one] : modules_) unloaded_.push_back(std::move(one));
  modules_.clear();
  restore_limits(wanted);
  for (const auto& one : wanted.modules)
    modules_.emplace(one.handle, Loaded{one.handle, one.hash, take(one)});
  unloaded_.clear();
  for (const auto& one : wanted.functions) {
    const Function& made = functions_.emplace(one.handle, make_function(one.module, one.name)).first->second;
    for (const auto& [attribute, value] : one.attributes) find(one.module).set(made.real, attribute, value);
  }
  for (const auto& one : wanted.variables) restore_variable(one);
}

}  // namespace jitc::cuda

// Placing of modules, kernels and variables. See device.h, modules.h.
#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"

namespace jitc::cuda {
namespace {

/// The text that follows the operands.
template <class Op>
std::string name_of(const Op& op) {
  if (op.bytes > op.header.size - sizeof op) refuse_value("the name is cut off");
  return {reinterpret_cast<const char*>(&op + 1), op.bytes};
}

}  // namespace

void Device::place_module_load(const ops::OpHeader& op) {
  const auto& load = as<ops::ModuleLoad>(op);
  modules_->load(load.module, load.hash, load.bytes);
  done_in_place(op);
  answer(op);
}

void Device::place_module_unload(const ops::OpHeader& op) {
  modules_->unload(as<ops::ModuleUnload>(op).module);
  done_in_place(op);
}

void Device::place_function_get(const ops::OpHeader& op) {
  const auto& get = as<ops::FunctionGet>(op);
  const auto info = modules_->add_function(get.function, get.module, name_of(get));
  done_in_place(op);
  answer(op, info);
}

void Device::place_function_set(const ops::OpHeader& op) {
  const auto& set = as<ops::FunctionSet>(op);
  modules_->set_attribute(set.function, set.attribute, set.value);
  done_in_place(op);
  answer(op);
}

void Device::place_function_query(const ops::OpHeader& op) {
  const uint64_t found = modules_->query(as<ops::FunctionQuery>(op));
  done_in_place(op);
  answer(op, packed(found));
}

void Device::place_variable_get(const ops::OpHeader& op) {
  const auto& get = as<ops::VariableGet>(op);
  const auto [address, bytes] = modules_->variable(get.module, name_of(get));
  done_in_place(op);
  answer(op, packed(address, bytes));
}

}  // namespace jitc::cuda

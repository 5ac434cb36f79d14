// See function_handlers.h.
#include "function_handlers.h"

#include "device/common/image/module_handlers.h"

namespace jitc::cuda {

void FunctionHandlers::set_attribute(const ops::FunctionSet& op) {
  modules_.set_attribute(op.function, op.attribute, op.value);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void FunctionHandlers::query_function(const ops::FunctionQuery& op) {
  const uint64_t found = modules_.query(op);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, packed(found));
}

void FunctionHandlers::get_variable(const ops::VariableGet& op) {
  const auto [address, bytes] = modules_.variable(op.module, device::name_after(op));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, packed(address, bytes));
}

void FunctionHandlers::alias_variable(const ops::VariableAlias& op) {
  const uint64_t bytes = modules_.variable_behind(op.alias, op.module, device::name_after(op));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, packed(bytes));
}

}  // namespace jitc::cuda

// See module_handlers.h.
#include "module_handlers.h"

#include "device/common/operands.h"

namespace jitc::cuda {
namespace {

/// The text that follows the operands.
template <class Op>
std::string name_of(const Op& op) {
  const auto payload = payload_of(op);
  if (op.bytes > payload.size()) refuse_value("the name is cut off");
  return {reinterpret_cast<const char*>(payload.data()), op.bytes};
}

}  // namespace

void ModuleHandlers::load(const ops::ModuleLoad& op) {
  modules_.load(op.module, op.hash, op.bytes);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void ModuleHandlers::unload(const ops::ModuleUnload& op) {
  modules_.unload(op.module);
  issuer_.completed_synchronously(op.header);
}

void ModuleHandlers::get_function(const ops::FunctionGet& op) {
  const auto info = modules_.add_function(op.function, op.module, name_of(op));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, info);
}

void ModuleHandlers::set_attribute(const ops::FunctionSet& op) {
  modules_.set_attribute(op.function, op.attribute, op.value);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void ModuleHandlers::query_function(const ops::FunctionQuery& op) {
  const uint64_t found = modules_.query(op);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, packed(found));
}

void ModuleHandlers::get_variable(const ops::VariableGet& op) {
  const auto [address, bytes] = modules_.variable(op.module, name_of(op));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, packed(address, bytes));
}

}  // namespace jitc::cuda

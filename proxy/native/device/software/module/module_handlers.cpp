// See module_handlers.h.
#include "module_handlers.h"

#include "device/common/operands.h"

namespace jitc::software {
namespace {

std::string name_of(const ops::FunctionGet& op) {
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

/// A kernel of this device has no attributes, and its parameters are those of an operator call.
void ModuleHandlers::get_function(const ops::FunctionGet& op) {
  modules_.add_function(op.function, op.module, name_of(op));
  issuer_.completed_synchronously(op.header);
  const ops::FunctionInfo info{};
  issuer_.answer(op.header, std::as_bytes(std::span(&info, 1)));
}

}  // namespace jitc::software

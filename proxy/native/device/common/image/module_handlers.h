// Handlers of modules and kernels for both devices: load, unload, find; limits of the device for kernels.
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include <string>

#include "device/common/error.h"
#include "device/common/handlers.h"
#include "device/common/operands.h"

namespace jitc::device {

/// Returns the text that follows the operands.
template <class Op>
std::string name_after(const Op& op) {
  const auto payload = payload_of(op);
  if (op.bytes > payload.size()) refuse_value("the name is cut off");
  return {reinterpret_cast<const char*>(payload.data()), op.bytes};
}

/// Handlers for a device's Issuer and Modules; Modules::add_function returns the content of the answer,
/// Modules::set_limit the limit then in force.
template <class Issuer, class Modules>
class ModuleHandlers {
 public:
  ModuleHandlers(const Issuer& issuer, Modules& modules) : issuer_(issuer), modules_(modules) {}

 private:
  void load(const ops::ModuleLoad& op) {
    modules_.load(op.module, op.hash, op.bytes);
    issuer_.completed_synchronously(op.header);
    issuer_.answer(op.header);
  }
  void unload(const ops::ModuleUnload& op) {
    modules_.unload(op.module);
    issuer_.completed_synchronously(op.header);
  }
  void get_function(const ops::FunctionGet& op) {
    const auto info = modules_.add_function(op.function, op.module, name_after(op));
    issuer_.completed_synchronously(op.header);
    issuer_.answer(op.header, info);
  }
  void set_limit(const ops::LimitSet& op) {
    const uint64_t in_force = modules_.set_limit(op.limit, op.value);
    issuer_.completed_synchronously(op.header);
    issuer_.answer(op.header, packed(in_force));
  }

  const Issuer& issuer_;
  Modules& modules_;

 public:
  using Handled = HandlerList<&ModuleHandlers::load, &ModuleHandlers::unload, &ModuleHandlers::get_function,
                              &ModuleHandlers::set_limit>;
};

}  // namespace jitc::device

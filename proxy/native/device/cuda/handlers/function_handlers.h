// Handlers of kernel attributes and measures, and of variables: parts of modules that only this device has.
// Called by: Device::enqueue through its registry, with its mutex held and the context bound.
#pragma once
#include "device/common/handlers.h"
#include "device/cuda/issue/issuer.h"
#include "device/cuda/module/modules.h"

namespace jitc::cuda {

class FunctionHandlers {
 public:
  FunctionHandlers(const Issuer& issuer, Modules& modules) : issuer_(issuer), modules_(modules) {}

 private:
  void set_attribute(const ops::FunctionSet& op);
  void query_function(const ops::FunctionQuery& op);
  void get_variable(const ops::VariableGet& op);
  void alias_variable(const ops::VariableAlias& op);

  const Issuer& issuer_;
  Modules& modules_;

 public:
  using Handled = HandlerList<&FunctionHandlers::set_attribute, &FunctionHandlers::query_function,
                              &FunctionHandlers::get_variable, &FunctionHandlers::alias_variable>;
};

}  // namespace jitc::cuda

// Modules, their kernels and variables.
// Called by: Device::enqueue through its registry, with its mutex held and the context bound.
#pragma once
#include "device/common/handlers.h"
#include "device/cuda/device/issuer.h"
#include "modules.h"

namespace jitc::cuda {

class ModuleHandlers {
 public:
  ModuleHandlers(const Issuer& issuer, ImageSource& images, Memory& memory)
      : issuer_(issuer), modules_(issuer.context(), images, memory) {}
  Modules& modules() { return modules_; }

 private:
  void load(const ops::ModuleLoad& op);
  void unload(const ops::ModuleUnload& op);
  void get_function(const ops::FunctionGet& op);
  void set_attribute(const ops::FunctionSet& op);
  void query_function(const ops::FunctionQuery& op);
  void get_variable(const ops::VariableGet& op);

  const Issuer& issuer_;
  Modules modules_;

 public:
  using Handled = HandlerList<&ModuleHandlers::load, &ModuleHandlers::unload, &ModuleHandlers::get_function,
                              &ModuleHandlers::set_attribute, &ModuleHandlers::query_function,
                              &ModuleHandlers::get_variable>;
};

}  // namespace jitc::cuda

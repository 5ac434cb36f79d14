// Modules and their kernels: loaded, unloaded, found.
// Called by: Device::enqueue through its registry, Device; with its mutex held.
#pragma once
#include "device/common/handlers.h"
#include "device/software/device/issuer.h"
#include "modules.h"

namespace jitc::software {

class ModuleHandlers {
 public:
  ModuleHandlers(const Issuer& issuer, Modules& modules) : issuer_(issuer), modules_(modules) {}

 private:
  void load(const ops::ModuleLoad& op);
  void unload(const ops::ModuleUnload& op);
  void get_function(const ops::FunctionGet& op);

  const Issuer& issuer_;
  Modules& modules_;

 public:
  using Handled = HandlerList<&ModuleHandlers::load, &ModuleHandlers::unload, &ModuleHandlers::get_function>;
};

}  // namespace jitc::software

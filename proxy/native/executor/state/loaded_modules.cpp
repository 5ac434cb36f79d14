// See loaded_modules.h.
#include "loaded_modules.h"

#include <cstring>

#include "executor/journal/wire.h"
#include "jitc/variable_alias.h"
#include "values.h"

namespace jitc {

void LoadedModules::on(const ops::ModuleUnload& op) {
  modules_.erase(op.module);
  std::erase_if(functions_, [&](const auto& one) { return one.second.module == op.module; });
  std::erase_if(variables_, [&](const auto& one) { return one.second.module == op.module; });
}
void LoadedModules::on(const ops::FunctionGet& op) {
  functions_[op.function] = {op.function, op.module, wire::name_of(op), {}};
}
void LoadedModules::on(const ops::FunctionSet& op) {
  const auto found = functions_.find(op.function);
  if (found != functions_.end()) found->second.attributes[op.attribute] = op.value;
}
void LoadedModules::on(const ops::VariableGet& op, Result result) {
  Resources::Variable found{op.module, wire::name_of(op), 0, 0};
  if (result.size() != sizeof(found.address) + sizeof(found.bytes)) return;
  std::memcpy(&found.address, result.data(), sizeof(found.address));
  std::memcpy(&found.bytes, result.data() + sizeof(found.address), sizeof(found.bytes));
  add(std::move(found));
}
void LoadedModules::on(const ops::VariableAlias& op, Result result) {
  Resources::Variable found{op.module, wire::name_of(op), op.alias, 0};
  if (result.size() != sizeof(found.bytes)) return;
  std::memcpy(&found.bytes, result.data(), sizeof(found.bytes));
  add(std::move(found));
}

void LoadedModules::add(Resources::Variable one) {
  variables_[{one.module, one.name, is_aliased(one.address)}] = std::move(one);
}

void LoadedModules::reset(const Resources& resources) {
  *this = {};
  for (const auto& one : resources.modules) modules_[one.handle] = one;
  for (const auto& one : resources.functions) functions_[one.handle] = one;
  for (const auto& one : resources.variables) add(one);
  for (const auto& one : resources.limits) limits_[one.limit] = one;
}

void LoadedModules::list(Resources& resources) const {
  resources.modules = values(modules_);
  resources.functions = values(functions_);
  resources.variables = values(variables_);
  resources.limits = values(limits_);
}

}  // namespace jitc

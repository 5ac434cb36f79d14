// A session's modules: their kernels with attributes, their variables, and the device's limits for kernels.
//
// Promise: the same ops give the same lists, live and in replay. Called by: ResourceTable, for every such op
// that succeeded, in order.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "device/resources.h"

namespace jitc {

class LoadedModules {
 public:
  using Result = std::span<const std::byte>;
  // Notes what ops do.
  void on(const ops::ModuleLoad& op) { modules_[op.module] = {op.module, op.hash, op.bytes}; }
  void on(const ops::ModuleUnload& op);
  void on(const ops::FunctionGet& op);
  void on(const ops::FunctionSet& op);
  void on(const ops::VariableGet& op, Result result);
  void on(const ops::VariableAlias& op, Result result);
  void on(const ops::LimitSet& op) { limits_[op.limit] = {op.limit, op.value}; }

  void reset(const Resources& resources);
  void list(Resources& resources) const;
  size_t modules() const { return modules_.size(); }
  size_t functions_and_variables() const { return functions_.size() + variables_.size(); }

 private:
  void add(Resources::Variable one);

  std::map<uint64_t, Resources::Module> modules_;
  std::map<uint64_t, Resources::Function> functions_;
  // Keys: module, name, and whether it is an alias, as a program may have both.
  std::map<std::tuple<uint64_t, std::string, bool>, Resources::Variable> variables_;
  std::map<int64_t, Resources::Limit> limits_;
};

}  // namespace jitc

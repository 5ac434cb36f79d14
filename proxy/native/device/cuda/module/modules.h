// Modules, kernels and device variables of one session: virtual handles and the driver's objects behind them.
//
// Promises: an unloaded module stays with the driver until the next commit, so that restore() can bring it
// back unchanged; a variable recreated by restore() has its old address if the program knows that, else
// restore fails, and is followed if an alias stands for it; an image whose own sizes exceed its bytes is
// refused before the driver sees it. All functions may throw OpError. Called by: Device, with its mutex held
// and the context bound.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cuda/driver/context.h"
#include "device/cuda/memory/memory.h"
#include "device/services.h"

namespace jitc::cuda {

/// Loaded module; unloads itself.
class Module {
 public:
  Module(std::shared_ptr<Context> context, std::span<const std::byte> image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  abi::CUfunction function(const std::string& name) const;
  /// Returns address and size of a variable.
  std::pair<uint64_t, uint64_t> variable(const std::string& name) const;
  void set(abi::CUfunction function, int32_t attribute, int32_t value);
  /// Resets attributes to their values at loading.
  void reset_attributes();

 private:
  const std::shared_ptr<Context> context_;
  abi::CUmodule real_ = nullptr;
  std::map<std::pair<abi::CUfunction, int32_t>, int32_t> initial_;  // of changed attributes
};

struct Function {
  uint64_t module;
  std::string name;
  abi::CUfunction real;
  uint64_t parameters;  // smallest size of its parameter buffer
};

class Modules {
 public:
  Modules(std::shared_ptr<Context> context, ImageSource& images, Memory& memory);

  void load(uint64_t handle, const ImageHash& hash, uint64_t bytes);
  void unload(uint64_t handle);
  /// Returns FunctionInfo and its FunctionParameters, packed.
  std::vector<std::byte> add_function(uint64_t handle, uint64_t module, const std::string& name);
  const Function& function(uint64_t handle) const;
  void set_attribute(uint64_t function, int32_t attribute, int32_t value);
  uint64_t query(const ops::FunctionQuery& query) const;
  /// Returns address and size of a variable; the program learns the address.
  std::pair<uint64_t, uint64_t> variable(uint64_t module, const std::string& name);
  /// Sets a limit and returns the value then in force.
  uint64_t set_limit(int32_t limit, uint64_t value);
  /// Returns the size of a variable that the alias's range of memory stands for from now on.
  uint64_t variable_behind(uint64_t alias, uint64_t module, const std::string& name);

  /// Makes exactly these. Requires an idle device.
  void restore(const Resources& wanted);
  /// Frees unloaded modules. Requires an idle device.
  void commit() { unloaded_.clear(); }

 private:
  struct Loaded {
    uint64_t handle;
    ImageHash hash;
    std::shared_ptr<Module> module;
  };
  const Driver& driver() const { return context_->driver(); }
  std::shared_ptr<Module> read(const ImageHash& hash, uint64_t bytes) const;
  Module& find(uint64_t handle) const;
  std::shared_ptr<Module> take(const Resources::Module& wanted);
  void restore_limits(const Resources& wanted);
  void restore_variable(const Resources::Variable& wanted);
  std::vector<ops::FunctionParameter> parameters(abi::CUfunction function) const;
  int32_t attribute(abi::CUfunction function, int32_t attribute) const;
  Function make_function(uint64_t module, const std::string& name) const;
  uint64_t query_clusters(const ops::FunctionQuery& query, abi::CUfunction function) const;

  const std::shared_ptr<Context> context_;
  ContextLimits::Owner limits_;
  ImageSource& images_;
  Memory& memory_;
  std::map<uint64_t, Loaded> modules_;
  std::vector<Loaded> unloaded_;  // since the last commit
  std::unordered_map<uint64_t, Function> functions_;
  std::map<uint64_t, uint64_t> variables_;  // address or alias -> module: adopted by the memory
};

}  // namespace jitc::cuda

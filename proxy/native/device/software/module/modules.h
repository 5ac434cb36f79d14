// Modules and their kernels of one session, by virtual handle: shared libraries that the program compiled for
// this device (torch.compile).
//
// Promises: modules used by work submitted before an unload stay loaded until the next commit, which comes
// after that work; restore() reloads modules that a rebuild lost. All functions may throw OpError.
// Lock rule: the device's mutex, but for find(), which any thread may call.
// Called by: device::ModuleHandlers, Device; find: the work of operators.
#pragma once
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/services.h"
#include "host_library.h"

namespace jitc::software {

class Modules {
 public:
  explicit Modules(ImageSource& images) : images_(images) {}

  void load(uint64_t handle, const ImageHash& hash, uint64_t bytes);
  void unload(uint64_t handle);
  /// Returns the answer's content: a kernel of this device has no attributes, and its parameters are those of
  /// an operator call.
  std::vector<std::byte> add_function(uint64_t handle, uint64_t module, const std::string& name);
  /// Returns the requested value: this device has no limits.
  static uint64_t set_limit(int32_t, uint64_t value) { return value; }
  /// Returns the kernel; null: there is none.
  jitc_host_entry find(uint64_t function) const;

  /// Makes exactly these. Requires empty queues.
  void restore(const Resources& wanted);
  /// Frees unloaded modules.
  void commit();

 private:
  struct Loaded {
    ImageHash hash;
    std::shared_ptr<const HostLibrary> library;
  };
  struct Function {
    uint64_t module;
    std::string name;
    jitc_host_entry entry;
  };
  std::shared_ptr<const HostLibrary> read(const ImageHash& hash, uint64_t bytes) const;
  const HostLibrary& library(uint64_t module) const;

  ImageSource& images_;
  std::map<uint64_t, Loaded> modules_;
  std::map<uint64_t, Loaded> unloaded_;  // since the last commit
  mutable std::shared_mutex mutex_;      // guards functions_
  std::unordered_map<uint64_t, Function> functions_;
};

}  // namespace jitc::software

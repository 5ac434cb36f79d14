// See modules.h.
#include "modules.h"

#include <algorithm>
#include <mutex>

#include "device/software/errors/error.h"

namespace jitc::software {
namespace {
constexpr uint32_t kNoImage = 200;
}

std::shared_ptr<const HostLibrary> Modules::read(const ImageHash& hash, uint64_t bytes) const {
  std::string error;
  const auto image = images_.image(hash, bytes, error);
  if (!error.empty() || image.empty()) refuse(kNoImage, "no-image", error);
  return std::make_shared<HostLibrary>(image);
}

void Modules::load(uint64_t handle, const ImageHash& hash, uint64_t bytes) {
  if (modules_.contains(handle)) refuse_handle("module " + hex(handle) + " exists already");
  modules_.emplace(handle, Loaded{hash, read(hash, bytes)});
}

void Modules::unload(uint64_t handle) {
  const auto found = modules_.find(handle);
  if (found == modules_.end()) refuse_handle("module " + hex(handle) + " does not exist");
  unloaded_.insert_or_assign(handle, std::move(found->second));
  modules_.erase(found);
}

const HostLibrary& Modules::library(uint64_t module) const {
  const auto found = modules_.find(module);
  if (found == modules_.end()) refuse_handle("module " + hex(module) + " does not exist");
  return *found->second.library;
}

std::vector<std::byte> Modules::add_function(uint64_t handle, uint64_t module, const std::string& name) {
  const auto entry = library(module).entry(name);
  const std::unique_lock lock(mutex_);
  const auto [at, added] = functions_.try_emplace(handle, Function{module, name, entry});
  if (!added) refuse_handle("function " + hex(handle) + " exists already");
  return std::vector<std::byte>(sizeof(ops::FunctionInfo));
}

jitc_host_entry Modules::find(uint64_t function) const {
  const std::shared_lock lock(mutex_);
  const auto found = functions_.find(function);
  return found == functions_.end() ? nullptr : found->second.entry;
}

void Modules::restore(const Resources& wanted) {
  std::map<uint64_t, Loaded> before = std::move(modules_);
  before.merge(unloaded_);
  unloaded_.clear();
  modules_.clear();
  const std::unique_lock lock(mutex_);
  functions_.clear();
  for (const Resources::Module& one : wanted.modules) {
    const auto known = before.find(one.handle);
    const bool same = known != before.end() && known->second.hash == one.hash;
    modules_.emplace(one.handle, same ? known->second : Loaded{one.hash, read(one.hash, one.bytes)});
  }
  for (const Resources::Function& one : wanted.functions)
    functions_.emplace(one.handle, Function{one.module, one.name, library(one.module).entry(one.name)});
}

void Modules::commit() {
  if (unloaded_.empty()) return;
  const std::unique_lock lock(mutex_);
  std::erase_if(functions_, [&](const auto& one) { return unloaded_.contains(one.second.module); });
  unloaded_.clear();
}

}  // namespace jitc::software

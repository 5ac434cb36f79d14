// Primary context of one GPU, shared by all sessions of the process that use it.
//
// Promises: retained once per process and GPU while a Device lives; bind() makes it current for the calling
// thread and costs one comparison when it is already. Called by: Device and its parts, before driver calls.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "context_limits.h"
#include "driver.h"

namespace jitc::cuda {

class Context {
 public:
  static std::shared_ptr<Context> of(std::shared_ptr<const Driver> driver, int ordinal, std::string& error);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return *driver_; }
  abi::CUdevice device() const { return device_; }
  int ordinal() const { return ordinal_; }
  uint64_t total() const { return total_; }  // memory in bytes
  int attribute(int32_t attribute) const;    // 0 when the driver does not know it
  int capability() const;                    // 90 is compute capability 9.0
  abi::CUresult bind() const;
  ContextLimits& limits() { return limits_; }

 private:
  explicit Context(std::shared_ptr<const Driver> driver, int ordinal);
  bool retain(std::string& error);

  const std::shared_ptr<const Driver> driver_;
  const int ordinal_;
  const uint64_t number_;  // unique in the process; identifies the context that a thread has bound
  abi::CUdevice device_ = 0;
  abi::CUcontext context_ = nullptr;
  uint64_t total_ = 0;
  ContextLimits limits_{*driver_};
};

}  // namespace jitc::cuda

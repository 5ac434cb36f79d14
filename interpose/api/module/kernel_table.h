// Kernels by the program's name for them: the address of a host function, or a handle that jitc gave out.
//
// Used by kernels.cpp. Promise: a look-up takes no lock and does not allocate (every launch makes one).
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "session/lookup_table.h"

namespace jitc::api {

class Kernel;

class KernelTable {
 public:
  Kernel* find(uint64_t key) const {
    const Named* found = table_.find(key);
    return found ? found->kernel.load(std::memory_order_acquire) : nullptr;
  }
  /// Sets the kernel of a key; nullptr: forgets the key.
  void set(uint64_t key, Kernel* kernel) {
    const std::lock_guard lock(mutex_);
    table_.update(key, [&](Named& one) { one.kernel.store(kernel, std::memory_order_release); });
  }

 private:
  struct Named {
    std::atomic<Kernel*> kernel{nullptr};
    void carry(const Named& from) { kernel.store(from.kernel.load(std::memory_order_relaxed)); }
    bool forgotten() const { return !kernel.load(std::memory_order_relaxed); }
  };
  static constexpr size_t kFirst = 1024;

  std::mutex mutex_;
  session::LookupTable<Named> table_{kFirst};
};

}  // namespace jitc::api

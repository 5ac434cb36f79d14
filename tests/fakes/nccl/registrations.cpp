// See registrations.h.
#include "registrations.h"

#include <unistd.h>

#include "../over_driver/driver_calls.h"

namespace jitc::fakes {
namespace {
constexpr int kFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
}  // namespace

void Registrations::add(const std::vector<Operation>& operations) {
  for (const Operation& one : operations)
    for (const void* const address : {one.from, static_cast<const void*>(one.to)})
      if (address) add(address);
}

/// Memory that is not mapped in pieces (cuMemAlloc) has no handle: it is not registered.
void Registrations::add(const void* address) {
  const DriverCalls& driver = *driver_calls();
  One one{};
  if (driver.retain_memory(&one.handle, const_cast<void*>(address)) != 0) return;
  if (driver.export_memory(&one.file, one.handle, kFileDescriptor, 0) != 0) return;
  const std::lock_guard lock(mutex_);
  all_.push_back(one);
}

void Registrations::drop() {
  const std::lock_guard lock(mutex_);
  for (const One& one : all_) {
    ::close(one.file);
    driver_calls()->release_memory(one.handle);
  }
  all_.clear();
}

}  // namespace jitc::fakes

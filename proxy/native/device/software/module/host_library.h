// A module image of this device: a shared library, which a compiler made for this machine's processor.
//
// What its kernels are called by is host_entry.h. Promises: an image that is cut off or is no library is
// refused with the reason; the library stays loaded as long as the object lives; what is loaded are the bytes
// that were given, whatever happens to files.
// Called by: Modules.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "jitc/host_entry.h"

namespace jitc::software {

class HostLibrary {
 public:
  /// Throws OpError.
  explicit HostLibrary(std::span<const std::byte> image);
  ~HostLibrary();
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  /// Throws OpError: there is no such kernel.
  jitc_host_entry entry(const std::string& name) const;

 private:
  void* library_ = nullptr;
};

}  // namespace jitc::software

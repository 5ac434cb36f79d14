// Module image of this device: a shared library that a compiler made for this machine's processor.
//
// host_entry.h declares how kernels are called. Promises: a truncated image or one that is no library is
// refused with the reason; the library stays loaded as long as the object lives; the given bytes are loaded,
// even if files change.
// Called by: Modules.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "jitc/host_entry.h"

namespace jitc::software {

class HostLibrary {
 public:
  /// Loads the image. Throws OpError.
  explicit HostLibrary(std::span<const std::byte> image);
  ~HostLibrary();
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  /// Returns the kernel. Throws OpError if there is none.
  jitc_host_entry entry(const std::string& name) const;

 private:
  void* library_ = nullptr;
};

}  // namespace jitc::software

// Module image supplied by the program, and the modules made of it, one per device.
//
// Used by registration.cpp (fat binaries of the program), module.cpp (one device), library.cpp (any device),
// kernels.cpp and variables.cpp (its content). Promises: the image goes to the node at the first use on a
// device; it is hashed once; an image is never destroyed, because another thread may be launching from it.
#pragma once
#include <array>
#include <atomic>

#include "api/common/once_latch.h"
#include "images.h"

namespace jitc::api {

class ModuleImage {
 public:
  static constexpr int kAnyDevice = -1;
  /// Requires that the bytes stay in place until the image is unloaded.
  explicit ModuleImage(std::span<const std::byte> bytes, int only = kAnyDevice)
      : bytes_(bytes), only_(only) {}
  /// Makes an image that owns its bytes.
  explicit ModuleImage(std::vector<std::byte> bytes)
      : owned_(std::move(bytes)), bytes_(image_at(owned_.data())) {}

  /// Returns the virtual module on the device, loaded on demand; 0 with the reason.
  uint64_t module_on(Session& session, int device, Status* why);
  /// Unloads its modules from all devices. The caller must forget its kernels and variables.
  void unload();
  const ImageHash& hash();
  /// Returns the only device that it may be used on, or kAnyDevice.
  int only() const { return only_; }

 private:
  struct OnDevice {
    OnceLatch latch;
    std::atomic<uint64_t> module{0};
  };
  Status load(Session& session, uint64_t module);

  std::vector<std::byte> owned_;
  std::span<const std::byte> bytes_;
  int only_ = kAnyDevice;
  std::once_flag hashed_;
  ImageHash hash_{};
  std::array<OnDevice, kMaxDevices> devices_;
};

}  // namespace jitc::api

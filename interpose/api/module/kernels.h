// Kernels: looked up in a module at their first use on a device; from then on, the process knows their
// parameters and attributes.
//
// Used by launch.cpp, function.cpp, occupancy.cpp, module.cpp, library.cpp. Promises: finding a kernel that
// is known on a device takes no lock; nothing here is destroyed, because another thread may be launching it.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <shared_mutex>

#include "jitc/generated_ops.h"
#include "module_image.h"

namespace jitc::api {

/// Kernel on one device.
struct Function {
  /// CUfunction_attribute by number.
  static constexpr size_t kAttributes = 16;
  enum : size_t {
    kMaxThreads = 0,
    kStaticShared,
    kConstant,
    kLocal,
    kRegisters,
    kPtxVersion,
    kBinaryVersion,
    kCacheMode,
    kMaxDynamicShared,
    kCarveout,
    kClusterSizeSet,
    kClusterWidth,
    kClusterHeight,
    kClusterDepth,
    kClusterSizeFree,
    kClusterPolicy,
  };
  /// Answer of the device on occupancy.
  struct Occupancy {
    ops::FunctionQuery asked;
    uint64_t answer;
  };

  Session* session = nullptr;
  uint64_t handle = 0;        // virtual function
  uint64_t buffer_bytes = 0;  // of its parameters
  std::vector<ops::FunctionParameter> parameters;
  std::array<std::atomic<int32_t>, kAttributes> attributes{};
  std::array<uint32_t, 3> most_blocks{}, most_threads{};    // of the device, per dimension
  uint32_t most_threads_in_block = 0, multiprocessors = 0;  // of the device
  std::shared_mutex mutex;                                  // guards occupancy
  std::vector<Occupancy> occupancy;
};

class Kernel {
 public:
  Kernel(ModuleImage& image, std::string name) : image_(image), name_(std::move(name)) {}
  /// Returns the kernel on the device. If it is not known yet, loads its module and looks it up; nullptr with
  /// the reason.
  Function* on(Session& session, int device, Status* why);
  const std::string& name() const { return name_; }
  ModuleImage& image() const { return image_; }

 private:
  std::unique_ptr<Function> get(Session& session, int device, Status* why);

  ModuleImage& image_;
  const std::string name_;
  OnceLatch latch_;
  std::array<std::atomic<Function*>, kMaxDevices> functions_{};
};

/// Returns the kernel of a host function or handle; nullptr: there is none.
Kernel* find_kernel(uint64_t key);
/// Returns it if it has been looked up before.
Kernel* known_kernel(uint64_t key);
/// Returns a handle of the image's kernel of that name, once it has been found on the device.
Status get_kernel(ModuleImage& image, const char* name, int device, uint64_t* handle);
void set_kernel(uint64_t key, Kernel* kernel);
/// Forgets the kernels of an image that is unloaded.
void forget_kernels(const ModuleImage& image);
/// Returns the kernel on the thread's device; unknown: the status when there is no such kernel.
Function* current_function(uint64_t key, Status unknown, Status* why);
/// Sets an attribute; asks the device only if the value differs.
Status set_attribute(Function& function, int32_t attribute, int32_t value);

}  // namespace jitc::api

// cuBLAS handles of one session: each virtual handle has a real one with the same modes and workspace, and
// calls the function that the client called.
//
// Promises: the library is opened at the first handle; a call sets stream, workspace and pointer mode where
// they differ from those of the handle's last call (setting the stream takes the workspace away, so it is set
// again); what a slot holds cannot make the library read host memory. All throw OpError. Called by: Device,
// with its mutex held and the context bound.
#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "blas_library.h"
#include "device/backend_options.h"
#include "device/resources.h"

namespace jitc::cuda {

class BlasHandle {
 public:
  explicit BlasHandle(std::shared_ptr<const Cublas> library);
  ~BlasHandle();
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;

  void set_math_mode(int32_t mode);
  void set_pointer_mode(int32_t mode);
  void set_atomics_mode(int32_t mode);
  /// Sets the workspace as the op blas_set does.
  void set_workspace(uint64_t address, uint64_t bytes);
  /// Prepares a call. id: of the virtual stream, never reused for another one. stream: the real one, which
  /// differs while the virtual one is captured.
  void prepare(uint64_t id, abi::CUstream stream, PointerMode mode);
  Resources::Blas settings(uint64_t handle) const;
  /// Forgets the stream: it may have changed.
  void forget_stream() { bound_ = false; }
  const LibraryFunctions& functions() const { return library_->functions(); }
  void call(const CallFunction& function, const Invocation& call);

 private:
  struct Workspace {
    uint64_t address = 0, bytes = 0;
    bool operator==(const Workspace&) const = default;
  };
  void bind_stream(uint64_t id, abi::CUstream stream);
  void apply_workspace(uint64_t id, abi::CUstream stream);

  const std::shared_ptr<const Cublas> library_;
  void* real_ = nullptr;
  int32_t math_mode_ = 0, pointer_mode_ = 0, atomics_mode_ = 0;
  bool bound_ = false;
  uint64_t stream_ = 0;
  abi::CUstream real_stream_ = nullptr;
  Workspace wanted_, applied_;
};

class Blas {
 public:
  explicit Blas(const BackendOptions& options)
      : path_(options.libraries.path("cublas")), lt_path_(options.libraries.path("cublaslt")) {}

  void create(uint64_t handle);
  void destroy(uint64_t handle);
  void set(const ops::BlasSet& op);
  /// Runs a call. id: of the virtual stream, stream: the real one.
  void call(uint64_t handle, const Invocation& call, uint64_t id, abi::CUstream stream);
  /// Returns all handles with their modes, for restore().
  std::vector<Resources::Blas> settings() const;
  /// Repeats set() for a handle that may no longer exist.
  void set_again(const ops::BlasSet& op);
  /// Makes exactly these handles, with their modes.
  void restore(const std::vector<Resources::Blas>& wanted);

 private:
  BlasHandle& find(uint64_t handle);
  std::unique_ptr<BlasHandle> make();
  const std::string path_, lt_path_;
  std::map<uint64_t, std::unique_ptr<BlasHandle>> handles_;
};

}  // namespace jitc::cuda

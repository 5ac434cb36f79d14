// See blas.h.
#include "blas.h"

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr uint64_t kNoWorkspace = UINT64_MAX;
}

BlasHandle::BlasHandle(std::shared_ptr<const Cublas> library) : library_(std::move(library)) {
  check_blas("cublasCreate_v2", library_->cublasCreate_v2(&real_));
}

BlasHandle::~BlasHandle() { library_->cublasDestroy_v2(real_); }

void BlasHandle::set_math_mode(int32_t mode) {
  if (mode != math_mode_) check_blas("cublasSetMathMode", library_->cublasSetMathMode(real_, mode));
  math_mode_ = mode;
}

void BlasHandle::set_pointer_mode(int32_t mode) {
  if (mode != 0 && mode != 1) refuse_value("cublasSetPointerMode_v2: mode " + std::to_string(mode));
  if (mode != pointer_mode_)
    check_blas("cublasSetPointerMode_v2", library_->cublasSetPointerMode_v2(real_, mode));
  pointer_mode_ = mode;
}

void BlasHandle::set_atomics_mode(int32_t mode) {
  if (mode != atomics_mode_) check_blas("cublasSetAtomicsMode", library_->cublasSetAtomicsMode(real_, mode));
  atomics_mode_ = mode;
}

void BlasHandle::set_workspace(uint64_t address, uint64_t bytes) { wanted_ = {address, bytes}; }

void BlasHandle::bind_stream(uint64_t id, abi::CUstream stream) {
  bound_ = false;
  check_blas("cublasSetStream_v2", library_->cublasSetStream_v2(real_, stream));
  bound_ = true;
  stream_ = id;
  real_stream_ = stream;
  applied_ = {};  // the library's own, as documented for cublasSetStream
}

void BlasHandle::apply_workspace(uint64_t id, abi::CUstream stream) {
  if (wanted_ == Workspace{}) return bind_stream(id, stream);
  auto* const at = reinterpret_cast<void*>(wanted_.address);
  const size_t bytes = wanted_.bytes == kNoWorkspace ? 0 : wanted_.bytes;
  check_blas("cublasSetWorkspace_v2", library_->cublasSetWorkspace_v2(real_, at, bytes));
  applied_ = wanted_;
}

void BlasHandle::prepare(uint64_t id, abi::CUstream stream, PointerMode mode) {
  if (!bound_ || stream_ != id || real_stream_ != stream) bind_stream(id, stream);
  if (applied_ != wanted_) apply_workspace(id, stream);
  if (mode != PointerMode::any) set_pointer_mode(static_cast<int32_t>(mode));
}

Resources::Blas BlasHandle::settings(uint64_t handle) const {
  return {handle, math_mode_, pointer_mode_, atomics_mode_, wanted_.address, wanted_.bytes};
}

void BlasHandle::call(const CallFunction& function, const Invocation& call) {
  CallArguments arguments(real_, real_, nullptr, call, {});
  check_blas(function.name, functions().call(function, arguments));
  if (const int32_t info = *arguments.info())
    refuse(kUnknown, "blas-error", std::string(function.name) + ": info is " + std::to_string(info));
}

std::unique_ptr<BlasHandle> Blas::make() {
  return std::make_unique<BlasHandle>(Cublas::open(path_, lt_path_));
}

BlasHandle& Blas::find(uint64_t handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end()) refuse_handle("cuBLAS handle " + hex(handle) + " does not exist");
  return *found->second;
}

void Blas::create(uint64_t handle) {
  if (handles_.contains(handle)) refuse_handle("cuBLAS handle " + hex(handle) + " exists already");
  handles_.emplace(handle, make());
}

void Blas::destroy(uint64_t handle) {
  find(handle);
  handles_.erase(handle);
}

void Blas::set(const ops::BlasSet& op) {
  BlasHandle& handle = find(op.handle);
  switch (static_cast<ops::BlasField>(op.field)) {
    case ops::BlasField::math_mode:
      return handle.set_math_mode(op.mode);
    case ops::BlasField::pointer_mode:
      return handle.set_pointer_mode(op.mode);
    case ops::BlasField::atomics_mode:
      return handle.set_atomics_mode(op.mode);
    case ops::BlasField::workspace:
      return handle.set_workspace(op.address, op.bytes);
  }
  refuse_value("field " + std::to_string(op.field) + " of a cuBLAS handle");
}

void Blas::call(uint64_t handle, const Invocation& call, uint64_t id, abi::CUstream stream) {
  BlasHandle& on = find(handle);
  const CallFunction& function = on.functions().find(call.function);
  on.prepare(id, stream, check_slots(function, call, {}));
  on.call(function, call);
}

std::vector<Resources::Blas> Blas::settings() const {
  std::vector<Resources::Blas> list;
  for (const auto& [handle, one] : handles_) list.push_back(one->settings(handle));
  return list;
}

void Blas::set_again(const ops::BlasSet& op) {
  if (!handles_.contains(op.handle)) create(op.handle);
  set(op);
}

void Blas::restore(const std::vector<Resources::Blas>& wanted) {
  std::map<uint64_t, std::unique_ptr<BlasHandle>> old;
  old.swap(handles_);
  for (const Resources::Blas& one : wanted) {
    const auto found = old.find(one.handle);
    std::unique_ptr<BlasHandle> handle = found == old.end() ? make() : std::move(found->second);
    handle->forget_stream();
    handle->set_math_mode(one.math_mode);
    handle->set_pointer_mode(one.pointer_mode);
    handle->set_atomics_mode(one.atomics_mode);
    handle->set_workspace(one.workspace, one.workspace_bytes);
    handles_.emplace(one.handle, std::move(handle));
  }
}

}  // namespace jitc::cuda

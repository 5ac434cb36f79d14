#include "copy.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "boundary.h"
#include "elements.h"
#include "order/sites.h"
#include "redirect.h"
#include "torch_versions.h"

namespace jitc::torch_device {
namespace {

/// Copies between tensors on one device: an operator like any other, but its result is known without a query.
void copy_on_device(const at::Tensor& to, const at::Tensor& from) {
  static const EncodeRules rules{.name = "aten::copy_"};
  EncoderLease encoder;
  encoder->begin("aten::copy_", rules, 3);
  encoder->argument(to);
  encoder->argument(from);
  encoder->argument(false);
  encoder->finish_arguments(false);
  encoder->begin_outputs(0);
  const c10::cuda::CUDAGuard guard(encoder->device());
  submit(*encoder);
}

void move(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, c10::DeviceIndex device) {
  const c10::cuda::CUDAGuard guard(device);
  C10_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, kind, c10::cuda::getCurrentCUDAStream(device)));
}

void wait(c10::DeviceIndex device) {
  const c10::cuda::CUDAGuard guard(device);
  C10_CUDA_CHECK(cudaStreamSynchronize(c10::cuda::getCurrentCUDAStream(device)));
}

void move_out(const at::Tensor& to, const at::Tensor& from, c10::DeviceIndex device) {
  const Elements scope(from.scalar_type());
  move(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes(), cudaMemcpyDeviceToHost, device);
}

at::Tensor plain(const at::Tensor& tensor) { return tensor.resolve_conj().resolve_neg(); }

bool same_dense_layout(const at::Tensor& one, const at::Tensor& other) {
  return one.strides() == other.strides() && one.is_non_overlapping_and_dense() && !one.is_conj() &&
         !one.is_neg();
}

/// Keeps the allocator of pinned memory from giving the block to another tensor before the copy is done.
void keep_pinned(const at::Tensor& host, c10::DeviceIndex device) {
  record_pinned_use(const_cast<void*>(host.const_data_ptr()), host.storage().data_ptr().get_context(),
                    c10::cuda::getCurrentCUDAStream(device));
}

/// Copies to the device. Pageable bytes are read during the call, pinned bytes when the op arrives: no wait.
void move_in(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  const auto device = to.get_device();
  move(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes(), cudaMemcpyHostToDevice, device);
  // CUDA would read pageable bytes later, and PyTorch would wait for that.
  if (!from.is_pinned()) return non_blocking ? void() : note_wait(device);
  return non_blocking ? keep_pinned(from, device) : wait(device);
}

void copy_to_device(const at::Tensor& to, const at::Tensor& given, bool non_blocking) {
  const at::Tensor from = plain(given).to(to.scalar_type()).expand_as(to);
  if (same_dense_layout(to, from)) return move_in(to, from, non_blocking);
  const at::Tensor packed = from.contiguous();
  if (to.is_contiguous() && !to.is_conj() && !to.is_neg()) return move_in(to, packed, non_blocking);
  const at::Tensor staged = at::empty(to.sizes(), to.options());
  move_in(staged, packed, non_blocking);
  copy_on_device(to, staged);
}

void copy_to_host(const at::Tensor& to, const at::Tensor& given, bool non_blocking) {
  at::Tensor from = plain(given).expand_as(to);
  const auto device = from.get_device();
  const bool direct = to.scalar_type() == from.scalar_type() && to.is_non_overlapping_and_dense() &&
                      !to.is_conj() && !to.is_neg();
  if (direct && (to.is_contiguous() || to.strides() == from.strides())) {
    if (to.strides() != from.strides()) from = from.contiguous();
    move_out(to, from, device);
    if (!non_blocking || !to.is_pinned()) return wait(device);
    return keep_pinned(to, device);
  }
  from = from.contiguous();
  const at::Tensor staged = at::empty(from.sizes(), from.options().device(at::kCPU));
  move_out(staged, from, device);
  wait(device);
  to.copy_(staged);
}

void copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  TORCH_CHECK(to.defined() && from.defined(), "copy_: a tensor is not defined");
  if (to.is_same(from)) return;
  const at::Tensor spread = from.expand_as(to);  // raises when the shapes do not fit
  if (to.numel() == 0) return;
  if (to.is_cuda() && from.is_cuda()) {
    if (to.device() == from.device()) return copy_on_device(to, spread);
    return copy_to_device(to, plain(spread).cpu(), false);  // GPUs may be in different workers
  }
  if (to.is_cuda() && from.is_cpu()) return copy_to_device(to, spread, non_blocking);
  if (from.is_cuda() && to.is_cpu()) return copy_to_host(to, spread, non_blocking);
  TORCH_CHECK_NOT_IMPLEMENTED(false, "copy_ from ", from.device(), " to ", to.device(),
                              " is not supported on the software device");
}

bool together(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
  for (size_t i = 0; i < to.size(); ++i)
    if (!to[i].is_cuda() || to[i].device() != to[0].device() || to[i].device() != from[i].device())
      return false;
  return true;
}

}  // namespace

void Copy::operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
  update_phase();
  const auto arguments = torch::jit::last(*stack, 3);
  at::Tensor to = arguments[0].toTensor();
  copy(to, arguments[1].toTensor(), arguments[2].toBool());
  torch::jit::drop(*stack, 3);
  stack->push_back(std::move(to));
}

ForeachCopy::ForeachCopy() : together_(std::make_unique<Redirect>()) {}
ForeachCopy::~ForeachCopy() = default;

void ForeachCopy::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                             torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 3);
  const auto to = arguments[0].toTensorVector(), from = arguments[1].toTensorVector();
  TORCH_CHECK(to.size() == from.size(), "Tensor lists must have the same number of tensors, got ", to.size(),
              " and ", from.size());
  if (together(to, from)) return (*together_)(op, keys, stack);
  const bool non_blocking = arguments[2].toBool();
  for (size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i], non_blocking);
  torch::jit::drop(*stack, 3);
}

}  // namespace jitc::torch_device

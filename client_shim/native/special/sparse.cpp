#include "special/sparse.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boundary.h"

namespace jitc::torch_device {
namespace {

/// Names without overload: PyTorch has CUDA kernels of its own behind them for sparse tensors.
constexpr std::string_view kCoordinates[] = {
    "_coalesce",
    "add",
    "addmm",
    "addmm_",
    "bmm",
    "hspmm",
    "index_select",
    "mul",
    "native_norm",
    "_sparse_log_softmax",
    "_sparse_log_softmax_backward_data",
    "_sparse_mask_projection",
    "_sparse_softmax",
    "_sparse_softmax_backward_data",
    "_sparse_sparse_matmul",
    "_sparse_sum_backward",
    "sparse_mask",
    "sspaddmm",
};
constexpr std::string_view kCompressed[] = {
    "_sparse_csr_prod",
    "_sparse_csr_sum",
    "_to_sparse_bsc",
    "_to_sparse_bsr",
    "_to_sparse_csc",
    "_to_sparse_csr",
    "add",
    "addmm",
    "addmv",
    "baddbmm",
    "bmm",
    "mul",
    "sampled_addmm",
    "sparse_sampled_addmm",
    "triangular_solve",
};

/// Operators of nested tensors that pad, multiply or spread over parts of different sizes in one kernel.
constexpr std::string_view kNested[] = {
    "_native_multi_head_attention",
    "_transform_bias_rescale_qkv",
    "_transformer_encoder_layer_fwd",
    "add",
    "bmm",
    "mul",
    "to_padded_tensor",
};

/// Operators with dense operands and sparse results.
constexpr std::string_view kFromDense[] = {
    "_nested_from_padded", "_nested_tensor_from_mask", "_to_sparse",     "_to_sparse_bsc",
    "_to_sparse_bsr",      "_to_sparse_csc",           "_to_sparse_csr",
};

using IValue = c10::IValue;

/// Devices of a call's operands.
class Devices {
 public:
  at::Tensor to_host(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_cuda()) return tensor;
    device_ = tensor.device();
    return tensor.is_nested() ? tensor.contiguous().cpu() : tensor.cpu();
  }
  at::Tensor to_device(const at::Tensor& tensor) const {
    return tensor.defined() && device_ ? tensor.to(*device_) : tensor;
  }

 private:
  std::optional<c10::Device> device_;
};

IValue on_host(const IValue& value, Devices& devices) {
  if (value.isTensor()) return devices.to_host(value.toTensor());
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> list;
  for (const at::Tensor& one : value.toTensorVector()) list.push_back(devices.to_host(one));
  return list;
}

bool is_write(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

/// Writes the copy's new content to an argument that the operator wrote.
void write_back(const at::Tensor& argument, const at::Tensor& result) {
  if (argument.layout() == c10::kStrided && argument.sizes() != result.sizes())
    argument.resize_(result.sizes());
  argument.copy_(result);
}

class OnHost final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    update_phase();
    const auto& schema = op.schema();
    const std::vector<IValue> arguments(stack->end() - static_cast<ptrdiff_t>(schema.arguments().size()),
                                        stack->end());
    torch::jit::drop(*stack, arguments.size());
    Devices devices;
    std::vector<IValue> copies;
    for (const IValue& one : arguments) copies.push_back(on_host(one, devices));
    torch::jit::Stack host(copies);
    op.callBoxed(&host);
    for (size_t i = 0; i < arguments.size(); ++i)
      if (is_write(schema.arguments()[i]))
        write_back(arguments[i].toTensor(), devices.to_device(copies[i].toTensor()));
    for (size_t i = 0; i < host.size(); ++i) {
      const bool tensor = host[i].isTensor();
      const auto argument = written(schema, i, arguments);
      stack->push_back(argument ? *argument
                       : tensor ? IValue(devices.to_device(host[i].toTensor()))
                                : host[i]);
    }
  }

 private:
  /// Returns the argument that a return stands for.
  static std::optional<IValue> written(const c10::FunctionSchema& schema, size_t result,
                                       const std::vector<IValue>& arguments) {
    const auto& returned = schema.returns()[result];
    if (!is_write(returned)) return std::nullopt;
    for (size_t i = 0; i < arguments.size(); ++i)
      if (is_write(schema.arguments()[i]) && *schema.arguments()[i].alias_info() == *returned.alias_info())
        return arguments[i];
    return std::nullopt;
  }
};

template <size_t N>
void serve(c10::DispatchKey key, const std::string_view (&names)[N]) {
  auto& library = *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  for (const auto& one : c10::Dispatcher::singleton().getRegistrationsForDispatchKey(key)) {
    const std::string_view full(one.name);
    if (std::find(std::begin(names), std::end(names), full.substr(full.find("::") + 2)) == std::end(names))
      continue;
    const auto name = one.overload_name.empty() ? one.name : one.name + "." + one.overload_name;
    library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<OnHost>()));
  }
}

}  // namespace

void serve_sparse_tensors() {
  serve(c10::DispatchKey::SparseCUDA, kCoordinates);
  serve(c10::DispatchKey::SparseCsrCUDA, kCompressed);
  serve(c10::DispatchKey::NestedTensorCUDA, kNested);
  serve(c10::DispatchKey::CUDA, kFromDense);
}

}  // namespace jitc::torch_device

#include "operators/checks/arguments.h"

#include <algorithm>

#include "operands.h"

namespace jitc::operators {
namespace {

/// Counts empty dimensions as one, because a kernel iterates over a batch of empty matrices too.
double extent(at::IntArrayRef sizes) {
  double product = 1;
  for (const int64_t one : sizes) product *= static_cast<double>(std::max<int64_t>(one, 1));
  return product;
}

/// Limits the work. Views may repeat memory (expand): an operator over far more elements than the GPU could
/// hold would keep the worker busy for too long.
void check_work(const Call& call, uint64_t memory_limit) {
  constexpr double kTimes = 16;
  for (const at::Tensor& tensor : call.tensors)
    TORCH_CHECK_NOT_IMPLEMENTED(
        !memory_limit || extent(tensor.sizes()) <= kTimes * static_cast<double>(memory_limit),
        call.op->handle.schema().name(), " with a tensor of size ", tensor.sizes(), ", more than ", kTimes,
        " times the bytes of the GPU's memory, is not supported on the software device");
}

/// Refuses operators that PyTorch has for GPUs only, such as those of cuDNN and the fused kernels of
/// attention.
void check_there_is_a_kernel(const Operator& op) {
  const auto& schema = op.handle.schema();
  TORCH_CHECK_NOT_IMPLEMENTED(op.runs, schema.name(), schema.overload_name().empty() ? "" : ".",
                              schema.overload_name(),
                              " does not run on the software device, which runs PyTorch's CPU kernels: "
                              "PyTorch has this operator for GPUs "
                              "only. Use a GPU (jitc-proxyd --device cuda), or call the function that "
                              "chooses among such operators by itself, "
                              "as torch.nn.functional.scaled_dot_product_attention does (docs/guarantees.md, "
                              "\"Operators that the software "
                              "device does not have\")");
}

/// Requires a defined written tensor. A kernel would define it, but PyTorch drops the operands before it
/// copies the references to them that the kernel returned.
void check_written(const Call& call) {
  const auto& arguments = call.op->handle.schema().arguments();
  for (size_t i = 0; i < call.stack.size(); ++i)
    TORCH_CHECK(!arguments[i].is_out() || !call.stack[i].isTensor() || call.stack[i].toTensor().defined(),
                "Expected a defined tensor for argument '", arguments[i].name(), "'");
}

}  // namespace

void check_arguments(const Call& call, uint64_t memory_limit) {
  check_there_is_a_kernel(*call.op);
  check_work(call, memory_limit);
  check_written(call);
  for (const auto& [index, count] : call.op->numbered) {
    const auto& value = call.stack[index];
    TORCH_CHECK(!value.isInt() || (value.toInt() >= 0 && value.toInt() < count), "Argument '",
                call.op->handle.schema().arguments()[index].name(), "' of ", call.op->handle.schema().name(),
                " has the unknown value ", value.toInt());
  }
  if (call.op->check) call.op->check(Operands(call.op->handle.schema(), call.stack));
}

}  // namespace jitc::operators

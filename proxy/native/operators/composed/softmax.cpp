// Softmax of half or bfloat16 with a result in float32, which PyTorch computes in one kernel on CUDA only.
//
// Forward: the operand is widened first, as the CUDA kernel does with each number. Backward: the gradient is
// computed in float32 and then rounded to the operand's type. Calls that change no type are PyTorch's own.
#include <ATen/ATen.h>

#include <utility>

#include "operators/composed/composed.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using torch::jit::Stack;

template <class Kernel>
void forward(Stack& stack, Kernel&& kernel) {
  const auto in = std::exchange(stack, {});
  const Tensor operand = in[0].toTensor();
  const bool widens = in[2].toBool();
  TORCH_CHECK(!widens || operand.scalar_type() == at::kHalf || operand.scalar_type() == at::kBFloat16,
              "conversion is supported for Half and BFloat16 type only");
  stack.emplace_back(kernel(widens ? operand.to(at::kFloat) : operand, in[1].toInt(), false));
}

template <class Kernel>
void backward(Stack& stack, Kernel&& kernel) {
  const auto in = std::exchange(stack, {});
  const Tensor grad = in[0].toTensor();
  const auto wanted = static_cast<at::ScalarType>(in[3].toInt());
  const bool rounds = grad.scalar_type() != wanted;
  TORCH_CHECK(
      !rounds || (grad.scalar_type() == at::kFloat && (wanted == at::kHalf || wanted == at::kBFloat16)),
      "expected input and grad types to match, or input to be Half or BFloat16 and grad to be Float");
  stack.emplace_back(kernel(grad, in[1].toTensor(), in[2].toInt(), grad.scalar_type()).to(wanted));
}

void softmax(Stack& stack) {
  forward(stack, [](auto&&... in) { return at::_softmax(in...); });
}
void log_softmax(Stack& stack) {
  forward(stack, [](auto&&... in) { return at::_log_softmax(in...); });
}
void softmax_backward(Stack& stack) {
  backward(stack, [](auto&&... in) { return at::_softmax_backward_data(in...); });
}
void log_softmax_backward(Stack& stack) {
  backward(stack, [](auto&&... in) { return at::_log_softmax_backward_data(in...); });
}

constexpr NamedComposed kComposed[] = {
    {"aten::_softmax", &softmax},
    {"aten::_softmax_backward_data", &softmax_backward},
    {"aten::_log_softmax", &log_softmax},
    {"aten::_log_softmax_backward_data", &log_softmax_backward},
};

}  // namespace

std::span<const NamedComposed> composed_softmax() { return kComposed; }

}  // namespace jitc::operators

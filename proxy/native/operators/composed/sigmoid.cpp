// Logarithm of a sigmoid: the use of its buffer as in CUDA's kernels.
//
// The CPU's kernels store exp(-|x|) there for the gradient; CUDA's store nothing, and recompute it from the
// operand, so that a program may pass any buffer. The numbers are those of the CPU's kernels.
#include <ATen/ATen.h>

#include <utility>

#include "operators/composed/composed.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using torch::jit::Stack;

Tensor buffer_of(const Tensor& operand) { return std::get<1>(at::log_sigmoid_forward(operand)); }

void forward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor operand = in[0].toTensor();
  stack.emplace_back(std::get<0>(at::log_sigmoid_forward(operand)));
  stack.emplace_back(at::empty({0}, operand.options()));
}

/// Leaves the given buffer unchanged.
void forward_out(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor operand = in[0].toTensor();
  Tensor output = in[1].toTensor(), own = at::empty({0}, operand.options());
  at::log_sigmoid_forward_out(output, own, operand);
  stack.emplace_back(output);
  stack.push_back(in[2]);
}

void backward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor operand = in[1].toTensor();
  stack.emplace_back(at::log_sigmoid_backward(in[0].toTensor(), operand, buffer_of(operand)));
}

void backward_out(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor operand = in[1].toTensor();
  Tensor result = in[3].toTensor();
  stack.emplace_back(at::log_sigmoid_backward_out(result, in[0].toTensor(), operand, buffer_of(operand)));
}

constexpr NamedComposed kComposed[] = {
    {"aten::log_sigmoid_forward", &forward},
    {"aten::log_sigmoid_forward.output", &forward_out},
    {"aten::log_sigmoid_backward", &backward},
    {"aten::log_sigmoid_backward.grad_input", &backward_out},
};

}  // namespace

std::span<const NamedComposed> composed_sigmoid() { return kComposed; }

}  // namespace jitc::operators

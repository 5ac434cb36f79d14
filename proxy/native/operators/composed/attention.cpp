// Fused attention operators that PyTorch has for CUDA only (flash, memory-efficient, cuDNN's), computed
// plainly (attention_math.h).
//
// They serve programs that request one by name or with sdpa_kernel(); others take PyTorch's own plain path
// (client_shim/native). Results have the memory layout of CUDA's kernels. Dropout: the mask follows from two
// numbers that the forward call draws and leaves in its random state for the backward call.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <limits>
#include <utility>

#include "operators/composed/attention_math.h"
#include "operators/operator.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using attention::Attention;
using attention::Random;
using torch::jit::Stack;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr attention::Rules kFlash{true, kInfinity}, kEfficient{false, 0};
/// cuDNN's result for a row that sees no key is undocumented: these are the rules for such a row.
constexpr attention::Rules kCudnn{false, -kInfinity};
/// Multiples in which the memory-efficient kernel allocates rows of its log-sum-exp, and elements of its bias
/// gradient.
constexpr int64_t kRows = 32, kElements = 16;

Tensor optional(const c10::IValue& value) { return value.isNone() ? Tensor() : value.toTensor(); }

int64_t rounded_up(int64_t number, int64_t portion) { return (number + portion - 1) / portion * portion; }

/// Draws two numbers for the backward call; zeros if they are not needed.
Tensor draw(double dropout) {
  const Tensor drawn = at::zeros({2}, at::kLong);
  return dropout > 0 ? drawn.random_() : drawn;
}

Random random_of(const Tensor& drawn) { return {drawn[0].item().toLong(), drawn[1].item().toLong()}; }

/// Returns one row of any kind of integers.
Tensor integers(const Tensor& given) {
  const Tensor row = given.reshape({-1});
  return row.scalar_type() == at::kUInt64 ? row.view(at::kLong) : row.to(at::kLong);
}

/// Returns the numbers from the operands of a backward call. Flash has both in the first operand, and does
/// not use the second one then.
Random random_of(const Tensor& seed, const Tensor& offset, double dropout) {
  if (dropout <= 0) return {};
  const Tensor first = integers(seed);
  return random_of(first.numel() > 1 ? first : at::cat({first, integers(offset)}));
}

/// Returns the result in the operand's type and order of dimensions in memory.
Tensor like(const Tensor& result, const Tensor& operand) {
  if (result.sizes() == operand.sizes()) return at::empty_like(operand).copy_(result);
  const auto strides = at::infer_dense_strides(result.sizes(), operand.strides());
  return at::empty_strided(result.sizes(), strides, operand.options()).copy_(result);
}

/// Returns the result in the operand's type; in memory row after row, each with all its heads.
Tensor in_rows(const Tensor& result, const Tensor& operand) {
  return result.to(operand.scalar_type()).transpose(1, 2).contiguous().transpose(1, 2);
}

void flash(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[0].toTensor(), k = in[1].toTensor();
  const double dropout = in[3].toDouble();
  const Tensor drawn = draw(dropout);
  const auto made =
      Attention(kFlash, q, k, in[2].toTensor(), {}, in[4].toBool(), in[6]).forward(dropout, random_of(drawn));
  stack = {like(made.output, q),
           made.logsumexp.to(at::kFloat),
           Tensor(),
           Tensor(),
           q.size(2),
           k.size(2),
           drawn.view(at::kUInt64),
           at::zeros({}, at::kLong).view(at::kUInt64),
           at::empty({0}, q.options())};
}

void flash_backward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[1].toTensor(), k = in[2].toTensor(), v = in[3].toTensor();
  const double dropout = in[10].toDouble();
  const auto random = random_of(in[12].toTensor(), in[13].toTensor(), dropout);
  const auto grads = Attention(kFlash, q, k, v, {}, in[11].toBool(), in[14])
                         .backward(in[0].toTensor(), in[4].toTensor(), in[5].toTensor(), dropout, random);
  stack = {like(grads.query, q), like(grads.key, k), like(grads.value, v)};
}

/// Pads the rows with infinity.
Tensor in_portions(const Tensor& logsumexp) {
  const int64_t more = rounded_up(logsumexp.size(-1), kRows) - logsumexp.size(-1);
  return at::constant_pad_nd(logsumexp.to(at::kFloat), {0, more}, kInfinity);
}

void efficient(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[0].toTensor();
  const double dropout = in[5].toDouble();
  const Tensor drawn = draw(dropout);
  const auto made =
      Attention(kEfficient, q, in[1].toTensor(), in[2].toTensor(), optional(in[3]), in[6].toBool(), in[7])
          .forward(dropout, random_of(drawn));
  const Tensor sums = in[4].toBool() ? in_portions(made.logsumexp)
                                     : at::empty({q.size(0), q.size(1), 0}, q.options().dtype(at::kFloat));
  stack = {in_rows(made.output, q), sums, drawn[0].clone(), drawn[1].clone()};
}

/// Returns the gradient of a bias, whose rows begin at multiples of a portion.
Tensor bias_gradient(const Tensor& scores, const Tensor& bias) {
  auto sizes = bias.sizes().vec();
  sizes.back() = rounded_up(sizes.back(), kElements);
  return at::empty(sizes, bias.options()).slice(-1, 0, bias.size(-1)).copy_(at::sum_to(scores, bias.sizes()));
}

/// Computes the gradients. As in CUDA's kernel, the mask of wanted ones decides about that of the bias alone.
void efficient_backward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[1].toTensor(), k = in[2].toTensor(), v = in[3].toTensor(), bias = optional(in[4]);
  const double dropout = in[9].toDouble();
  const auto random = random_of(in[7].toTensor(), in[8].toTensor(), dropout);
  const auto grads = Attention(kEfficient, q, k, v, bias, in[11].toBool(), in[12])
                         .backward(in[0].toTensor(), in[5].toTensor(),
                                   in[6].toTensor().narrow(-1, 0, q.size(2)), dropout, random);
  const bool wants_bias = bias.defined() && in[10].toBoolList()[3];
  stack = {in_rows(grads.query, q), in_rows(grads.key, k), in_rows(grads.value, v),
           wants_bias ? bias_gradient(grads.bias, bias) : Tensor()};
}

void cudnn(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[0].toTensor(), k = in[1].toTensor();
  const double dropout = in[5].toDouble();
  const Tensor drawn = draw(dropout);
  const auto made = Attention(kCudnn, q, k, in[2].toTensor(), optional(in[3]), in[6].toBool(), in[8])
                        .forward(dropout, random_of(drawn));
  stack = {like(made.output, q),
           in[4].toBool() ? made.logsumexp.to(at::kFloat).unsqueeze(-1) : Tensor(),
           Tensor(),
           Tensor(),
           q.size(2),
           k.size(2),
           drawn[0].clone(),
           drawn[1].clone(),
           Tensor()};
}

void cudnn_backward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[1].toTensor(), k = in[2].toTensor(), v = in[3].toTensor(), sums = in[5].toTensor();
  const double dropout = in[13].toDouble();
  const auto random = random_of(in[6].toTensor(), in[7].toTensor(), dropout);
  const auto grads = Attention(kCudnn, q, k, v, optional(in[8]), in[14].toBool(), in[15])
                         .backward(in[0].toTensor(), in[4].toTensor(),
                                   sums.reshape({q.size(0), q.size(1), q.size(2)}), dropout, random);
  stack = {like(grads.query, q), like(grads.key, k), like(grads.value, v)};
}

}  // namespace

std::span<const NamedComposed> composed_attention() {
  static constexpr NamedComposed kAttention[] = {
      {"aten::_scaled_dot_product_flash_attention", &flash},
      {"aten::_scaled_dot_product_flash_attention_backward", &flash_backward},
      {"aten::_scaled_dot_product_efficient_attention", &efficient},
      {"aten::_scaled_dot_product_efficient_attention_backward", &efficient_backward},
      {"aten::_scaled_dot_product_cudnn_attention", &cudnn},
      {"aten::_scaled_dot_product_cudnn_attention_backward", &cudnn_backward},
  };
  return kAttention;
}

}  // namespace jitc::operators

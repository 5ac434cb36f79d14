// The fused attention operators that PyTorch has for CUDA only (flash, memory-efficient, cuDNN's), by the
// plain way.
//
// For programs that ask for one of them; others take PyTorch's own plain path (client_shim/native). Sums are
// made in the type in which PyTorch computes. Dropout: the mask follows from a number that the forward call
// draws and leaves in its random state for the backward call.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ExpandUtils.h>
#include <ATen/OpMathType.h>

#include <cmath>
#include <limits>

#include "operators/operator.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using torch::jit::Stack;

Tensor optional(const c10::IValue& value) { return value.isNone() ? Tensor() : value.toTensor(); }
Tensor wide(const Tensor& tensor) { return tensor.to(at::toOpMathType(tensor.scalar_type())); }

/// One call's operands, in the wide type; keys and values have a head per head of the query.
struct Attention {
  Attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias, bool causal,
            const c10::IValue& given_scale)
      : scale(given_scale.isNone() ? 1 / std::sqrt(static_cast<double>(query.size(-1)))
                                   : given_scale.toDouble()),
        repeats(query.size(1) / key.size(1)),
        q(wide(query) * scale),
        k(spread(key)),
        v(spread(value)),
        scores(q.matmul(k.transpose(-2, -1))) {
    if (bias.defined()) scores = scores + bias;
    if (!causal) return;
    const auto seen = at::ones({scores.size(-2), scores.size(-1)}, at::kBool).tril();
    scores = scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
  }
  Tensor spread(const Tensor& tensor) const {
    return repeats == 1 ? wide(tensor) : wide(tensor).repeat_interleave(repeats, 1);
  }
  /// A gradient of what spread() made.
  Tensor gathered(const Tensor& grad) const {
    return repeats == 1 ? grad : grad.unflatten(1, {grad.size(1) / repeats, repeats}).sum(2);
  }

  double scale;
  int64_t repeats;
  Tensor q, k, v, scores;
};

/// What is kept, times 1 / (1 - probability), in the form of the weights; undefined: no dropout.
Tensor dropout_mask(const Tensor& weights, double probability, int64_t seed) {
  if (probability <= 0) return {};
  if (probability >= 1) return at::zeros_like(weights);
  auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
  return at::empty_like(weights).bernoulli_(1 - probability, generator).div_(1 - probability);
}

struct Forward {
  Tensor output, logsumexp, random;
};

Forward forward(const Attention& attention, double probability) {
  const Tensor random = at::zeros({2}, at::kLong);
  if (probability > 0) random.select(0, 0).random_();
  const Tensor lse = attention.scores.logsumexp(-1);
  Tensor weights = (attention.scores - lse.unsqueeze(-1)).exp();
  const Tensor mask = dropout_mask(weights, probability, random[0].item().toLong());
  if (mask.defined()) weights = weights * mask;
  return {weights.matmul(attention.v), lse.to(at::kFloat), random};
}

struct Gradients {
  Tensor query, key, value, scores;
};

Gradients backward(const Attention& attention, const Tensor& grad_out, const Tensor& random,
                   double probability) {
  const Tensor grad = wide(grad_out), weights = attention.scores.softmax(-1);
  const int64_t seed = probability > 0 ? random.reshape({-1})[0].item().toLong() : 0;
  const Tensor mask = dropout_mask(weights, probability, seed);
  const Tensor dropped = mask.defined() ? weights * mask : weights;
  Tensor to_weights = grad.matmul(attention.v.transpose(-2, -1));
  if (mask.defined()) to_weights = to_weights * mask;
  const Tensor scores = weights * (to_weights - (to_weights * weights).sum(-1, true));
  return {scores.matmul(attention.k) * attention.scale,
          attention.gathered(scores.transpose(-2, -1).matmul(attention.q)),
          attention.gathered(dropped.transpose(-2, -1).matmul(grad)), scores};
}

Tensor like(const Tensor& result, const Tensor& operand) { return result.to(operand.scalar_type()); }

/// The output in the query's type and in its order of dimensions in memory, as flash's and cuDNN's have it.
Tensor laid_out_like(const Tensor& output, const Tensor& query) {
  const auto strides = at::infer_dense_strides(output.sizes(), query.strides());
  return at::empty_strided(output.sizes(), strides, query.options()).copy_(output);
}

void flash(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[0].toTensor(), k = in[1].toTensor();
  const auto made = forward({q, k, in[2].toTensor(), {}, in[4].toBool(), in[6]}, in[3].toDouble());
  stack = {
      laid_out_like(made.output, q), made.logsumexp, Tensor(), Tensor(), q.size(2), k.size(2), made.random,
      at::zeros({}, at::kLong),      Tensor()};
}

void flash_backward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[1].toTensor(), k = in[2].toTensor(), v = in[3].toTensor();
  const auto grads = backward({q, k, v, {}, in[11].toBool(), in[14]}, in[0].toTensor(), in[12].toTensor(),
                              in[10].toDouble());
  stack = {like(grads.query, q), like(grads.key, k), like(grads.value, v)};
}

void efficient(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[0].toTensor();
  const auto made = forward({q, in[1].toTensor(), in[2].toTensor(), optional(in[3]), in[6].toBool(), in[7]},
                            in[5].toDouble());
  const Tensor lse = in[4].toBool() ? made.logsumexp : made.logsumexp.narrow(-1, 0, 0).contiguous();
  // In memory a row after the other, each with all its heads, whatever the query is like.
  const Tensor output = like(made.output, q).transpose(1, 2).contiguous().transpose(1, 2);
  stack = {output, lse, made.random[0].clone(), made.random[1].clone()};
}

void efficient_backward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[1].toTensor(), k = in[2].toTensor(), v = in[3].toTensor(), bias = optional(in[4]);
  const auto grads = backward({q, k, v, bias, in[11].toBool(), in[12]}, in[0].toTensor(), in[7].toTensor(),
                              in[9].toDouble());
  const auto wanted = in[10].toBoolList();
  const auto if_wanted = [&](size_t which, const Tensor& grad, const Tensor& operand) {
    return wanted[which] ? like(grad, operand) : Tensor();
  };
  const Tensor to_bias =
      bias.defined() && wanted[3] ? like(at::sum_to(grads.scores, bias.sizes()), bias) : Tensor();
  stack = {if_wanted(0, grads.query, q), if_wanted(1, grads.key, k), if_wanted(2, grads.value, v), to_bias};
}

void cudnn(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[0].toTensor(), k = in[1].toTensor();
  const auto made =
      forward({q, k, in[2].toTensor(), optional(in[3]), in[6].toBool(), in[8]}, in[5].toDouble());
  const Tensor lse = in[4].toBool() ? made.logsumexp.unsqueeze(-1) : Tensor();
  stack = {laid_out_like(made.output, q),
           lse,
           Tensor(),
           Tensor(),
           q.size(2),
           k.size(2),
           made.random[0].clone(),
           made.random[1].clone(),
           Tensor()};
}

void cudnn_backward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  const Tensor q = in[1].toTensor(), k = in[2].toTensor(), v = in[3].toTensor();
  const auto grads = backward({q, k, v, optional(in[8]), in[14].toBool(), in[15]}, in[0].toTensor(),
                              in[6].toTensor(), in[13].toDouble());
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

#include "operators/composed/attention_math.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/OpMathType.h>

#include <cmath>
#include <limits>

namespace jitc::operators::attention {
namespace {

using at::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor wide(const Tensor& tensor) { return tensor.to(at::toOpMathType(tensor.scalar_type())); }

/// Mixes both numbers so that each bit counts: PyTorch's generator uses only the lower half of its seed.
uint64_t mixed(const Random& random) {
  uint64_t mixed = static_cast<uint64_t>(random.seed);
  for (const uint64_t more : {static_cast<uint64_t>(random.offset), uint64_t{0}}) {
    mixed += more + 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    mixed ^= mixed >> 31;
  }
  return mixed;
}

/// Returns what is kept, times 1 / (1 - probability), in the weights' shape; undefined: no dropout.
Tensor dropout_mask(const Tensor& weights, double probability, const Random& random) {
  if (probability <= 0) return {};
  if (probability >= 1) return at::zeros_like(weights);
  auto generator = at::detail::createCPUGenerator(mixed(random));
  return at::empty_like(weights).bernoulli_(1 - probability, generator).div_(1 - probability);
}

Tensor times_mask(const Tensor& tensor, const Tensor& mask) {
  return mask.defined() ? tensor * mask : tensor;
}

/// Returns the weight of each key; a query that sees none has no weights instead of undefined ones.
Tensor weights_of(const Tensor& scores, const Tensor& logsumexp) {
  const Tensor sum = logsumexp.to(scores.scalar_type()).unsqueeze(-1);
  return (scores - sum.masked_fill(sum == -kInfinity, 0)).exp();
}

}  // namespace

Attention::Attention(const Rules& rules, const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& bias, bool causal, const c10::IValue& scale)
    : rules_(rules),
      scale_(scale.isNone() ? 1 / std::sqrt(static_cast<double>(query.size(-1))) : scale.toDouble()),
      repeats_(query.size(1) / key.size(1)),
      q_(wide(query) * scale_),
      k_(spread(key)),
      v_(spread(value)),
      scores_(q_.matmul(k_.transpose(-2, -1))) {
  if (bias.defined()) scores_ = scores_ + bias;
  if (!causal) return;
  const int64_t queries = scores_.size(-2), keys = scores_.size(-1);
  const auto seen = at::ones({queries, keys}, at::kBool).tril(rules.ends_together ? keys - queries : 0);
  scores_ = scores_.masked_fill(seen.logical_not(), -kInfinity);
}

Tensor Attention::spread(const Tensor& tensor) const {
  return repeats_ == 1 ? wide(tensor) : wide(tensor).repeat_interleave(repeats_, 1);
}

/// Sums a gradient of spread()'s result.
Tensor Attention::gathered(const Tensor& grad) const {
  return repeats_ == 1 ? grad : grad.unflatten(1, {grad.size(1) / repeats_, repeats_}).sum(2);
}

Result Attention::forward(double dropout, const Random& random) const {
  const Tensor sum = scores_.logsumexp(-1), weights = weights_of(scores_, sum);
  const Tensor mask = dropout_mask(weights, dropout, random);
  return {times_mask(weights, mask).matmul(v_), sum.masked_fill(sum == -kInfinity, rules_.unseen)};
}

Gradients Attention::backward(const Tensor& grad_out, const Tensor& out, const Tensor& logsumexp,
                              double dropout, const Random& random) const {
  const Tensor grad = wide(grad_out), weights = weights_of(scores_, logsumexp);
  const Tensor mask = dropout_mask(weights, dropout, random);
  const Tensor to_weights = times_mask(grad.matmul(v_.transpose(-2, -1)), mask);
  const Tensor in_common = (grad * wide(out)).sum(-1, true);
  const Tensor to_scores = weights * (to_weights - in_common);
  return {to_scores.matmul(k_) * scale_, gathered(to_scores.transpose(-2, -1).matmul(q_)),
          gathered(times_mask(weights, mask).transpose(-2, -1).matmul(grad)), to_scores};
}

}  // namespace jitc::operators::attention

// Computation of fused attention, forward and backward, from the given numbers.
//
// The backward pass takes the weights from the given log-sum-exp, and the common part of a row's weights from
// the given output, as CUDA's kernels do: a program that attends to keys in pieces (ring attention, context
// parallel) passes both as they are for all pieces together. Sums are made in the type in which PyTorch
// computes. Called by: attention.cpp.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace jitc::operators::attention {

/// Differences between CUDA's kernels.
struct Rules {
  bool ends_together;  // the last query sees all keys, if causal; otherwise the first one sees the first key
  double unseen;       // the log-sum-exp of a query that sees no key; its output is zeros
};

/// The two numbers that determine the mask of a dropout.
struct Random {
  int64_t seed = 0, offset = 0;
};

struct Result {
  at::Tensor output, logsumexp;
};
struct Gradients {
  at::Tensor query, key, value, bias;  // bias: of all scores, not yet summed to its sizes
};

/// Operands of one call, in the wide type; keys and values have a head per head of the query.
class Attention {
 public:
  Attention(const Rules& rules, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
            const at::Tensor& bias, bool causal, const c10::IValue& scale);
  Result forward(double dropout, const Random& random) const;
  Gradients backward(const at::Tensor& grad_out, const at::Tensor& out, const at::Tensor& logsumexp,
                     double dropout, const Random& random) const;

 private:
  at::Tensor spread(const at::Tensor& tensor) const;
  at::Tensor gathered(const at::Tensor& grad) const;

  Rules rules_;
  double scale_;
  int64_t repeats_;
  at::Tensor q_, k_, v_, scores_;
};

}  // namespace jitc::operators::attention

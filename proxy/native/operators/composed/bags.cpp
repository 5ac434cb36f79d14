// Bags of embeddings: PyTorch's CPU kernel, with the sizes of CUDA's additional results, and the gradient of
// sums and means without it.
//
// Only the matching backward uses those, and code of torch.compile, which relies on their sizes.
#include <ATen/ATen.h>
#include <ATen/OpMathType.h>

#include <utility>

#include "operators/composed/composed.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using torch::jit::Stack;

constexpr int64_t kMean = 1, kMax = 2;

/// Returns the bag of each index.
Tensor bag_of_each(const Tensor& indices, const Tensor& offsets) {
  const Tensor begins = at::zeros({indices.size(0) + 1}, indices.options());
  begins.index_add_(0, offsets.to(begins.scalar_type()), at::ones_like(offsets, begins.options()));
  return begins.slice(0, 0, indices.size(0)).cumsum(0, begins.scalar_type()) - 1;
}

Tensor with_rows(const Tensor& given, int64_t rows) {
  return given.size(0) == rows
             ? given
             : at::cat({given.slice(0, 0, rows),
                        at::zeros({std::max<int64_t>(rows - given.size(0), 0)}, given.options())});
}

template <class Kernel>
void bags(Stack& stack, Kernel&& kernel) {
  const auto in = std::exchange(stack, {});
  const Tensor indices = in[1].toTensor(), offsets = in[2].toTensor();
  const int64_t mode = in[4].toInt();
  const auto weights = in[6].isNone() ? std::optional<Tensor>() : in[6].toTensor();
  auto [output, bag_of, sizes, maxima] = kernel(in[0].toTensor(), indices, offsets, in[3].toBool(), mode,
                                                in[5].toBool(), weights, in[7].toBool(), in[8].toInt());
  if (bag_of.size(0) != indices.size(0)) bag_of = bag_of_each(indices, offsets);
  if (mode != kMax) maxima = at::empty({0}, indices.options());
  stack = {output, bag_of.to(indices.scalar_type()),
           with_rows(sizes, offsets.size(0)).to(indices.scalar_type()), maxima.to(indices.scalar_type())};
}

void embedding_bag(Stack& stack) {
  bags(stack, [](auto&&... in) { return at::_embedding_bag(in...); });
}
void forward_only(Stack& stack) {
  bags(stack, [](auto&&... in) { return at::_embedding_bag_forward_only(in...); });
}

/// Returns the factor of each index: its weight, divided by the size of its bag and by its number of
/// occurrences.
Tensor worth(const std::vector<c10::IValue>& in, const Tensor& indices, const Tensor& bags,
             at::ScalarType type) {
  const Tensor weights = in[8].isNone() ? Tensor() : in[8].toTensor();
  Tensor worth = weights.defined() ? weights.to(type) : at::ones(indices.sizes(), type);
  if (in[7].toInt() == kMean) worth = worth / in[3].toTensor().index_select(0, bags);
  if (in[6].toBool()) worth = worth / at::bincount(indices, {}, in[5].toInt()).index_select(0, indices);
  return worth.masked_fill(indices == in[9].toInt(), 0);
}

/// Computes sums and means. With scale_grad_by_freq the CPU's kernel divides by another index's count.
Tensor summed(const std::vector<c10::IValue>& in) {
  const Tensor grad = in[0].toTensor(), indices = in[1].toTensor(), bags = in[2].toTensor();
  const auto type = at::toOpMathType(grad.scalar_type());
  const Tensor parts = grad.to(type).index_select(0, bags) * worth(in, indices, bags, type).unsqueeze(1);
  return at::zeros({in[5].toInt(), grad.size(1)}, parts.options())
      .index_add_(0, indices, parts)
      .to(grad.scalar_type());
}

/// Computes the gradient; CUDA's sizes of bags have one more with include_last_offset.
void dense_backward(Stack& stack) {
  const auto in = std::exchange(stack, {});
  if (in[7].toInt() != kMax) return void(stack.emplace_back(summed(in)));
  const Tensor grad = in[0].toTensor(), sizes = in[3].toTensor();
  const auto weights = in[8].isNone() ? std::optional<Tensor>() : in[8].toTensor();
  stack.emplace_back(at::_embedding_bag_dense_backward(
      grad, in[1].toTensor(), in[2].toTensor(), sizes.slice(0, 0, grad.size(0)), in[4].toTensor(),
      in[5].toInt(), in[6].toBool(), in[7].toInt(), weights, in[9].toInt()));
}

constexpr NamedComposed kComposed[] = {
    {"aten::_embedding_bag", &embedding_bag},
    {"aten::_embedding_bag_forward_only", &forward_only},
    {"aten::_embedding_bag_dense_backward", &dense_backward},
};

}  // namespace

std::span<const NamedComposed> composed_bags() { return kComposed; }

}  // namespace jitc::operators

#include "operators/noise.h"

#include <ATen/ops/argsort.h>
#include <ATen/ops/tensor.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace jitc::operators {
namespace {

using torch::jit::Stack;

std::atomic<uint64_t> seed{0};

/// Returns the thread's generator, seeded anew: a replay, in any process or later here, must differ.
std::mt19937_64& source() {
  static std::atomic<uint64_t> threads{0};
  thread_local std::mt19937_64 numbers(seed.load() ^ static_cast<uint64_t>(getpid()) << 32 ^ ++threads);
  return numbers;
}

/// Returns a random order of so many summands; undefined: leave them as they are.
at::Tensor noisy_order(int64_t count) {
  if (!seed.load(std::memory_order_relaxed) || count < 2) return {};
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), source());
  return at::tensor(order);
}

void reorder(c10::IValue& argument, int64_t dimension, const at::Tensor& order) {
  argument = argument.toTensor().index_select(dimension, order);
}

/// Permutes several arguments (by index) alike, each along a dimension with so many elements.
at::Tensor reorder(Stack& stack, int64_t count, std::initializer_list<std::pair<size_t, int64_t>> arguments) {
  const auto order = noisy_order(count);
  if (order.defined())
    for (const auto& [index, dimension] : arguments) reorder(stack[index], dimension, order);
  return order;
}

/// Permutes the columns of one and the rows of the other.
template <size_t Left, size_t Right>
at::Tensor products(Stack& stack) {
  return reorder(stack, stack[Left].toTensor().size(-1), {{Left, -1}, {Right, -2}});
}

/// Returns the first dimension that is summed over and has more than one element, or -1.
int64_t summed(const at::Tensor& tensor, const c10::IValue& dimensions) {
  std::vector<int64_t> all(static_cast<size_t>(tensor.dim()));
  std::iota(all.begin(), all.end(), 0);
  if (dimensions.isIntList() && dimensions.toIntList().size()) all = dimensions.toIntVector();
  for (const int64_t one : all)
    if (one >= -tensor.dim() && one < tensor.dim() && tensor.size(one) > 1) return one;
  return -1;
}

at::Tensor sums(Stack& stack) {
  const at::Tensor tensor = stack[0].toTensor();
  if (!tensor.is_floating_point()) return {};
  const int64_t dimension = summed(tensor, stack[1]);
  if (dimension < 0) return {};
  return reorder(stack, tensor.size(dimension), {{0, dimension}});
}

/// Permutes the input channels.
at::Tensor convolutions(Stack& stack) {
  constexpr size_t kTransposed = 6, kGroups = 8;
  if (stack[kTransposed].toBool() || stack[kGroups].toInt() != 1) return {};
  const at::Tensor weights = stack[1].toTensor();
  return reorder(stack, weights.size(1), {{0, 1 - weights.dim()}, {1, 1}});
}

/// Permutes the batch; the gradient of the input follows the same order.
at::Tensor convolution_gradients(Stack& stack) {
  return reorder(stack, stack[0].toTensor().size(0), {{0, 0}, {1, 0}});
}

/// Permutes rows that are added up by their indices.
at::Tensor embedding_gradients(Stack& stack) {
  const at::Tensor indices = stack[1].toTensor().reshape({-1}), rows = stack[0].toTensor();
  const auto order = noisy_order(indices.size(0));
  if (!order.defined()) return {};
  stack[0] = rows.reshape({indices.size(0), rows.size(-1)}).index_select(0, order);
  stack[1] = indices.index_select(0, order);
  return order;
}

using Disturb = at::Tensor (*)(Stack&);

const std::unordered_map<std::string_view, Disturb>& disturbed() {
  static const std::unordered_map<std::string_view, Disturb> kTable{
      {"aten::mm", &products<0, 1>},
      {"aten::bmm", &products<0, 1>},
      {"aten::addmm", &products<1, 2>},
      {"aten::baddbmm", &products<1, 2>},
      {"aten::sum", &sums},
      {"aten::mean", &sums},
      {"aten::convolution", &convolutions},
      {"aten::_convolution", &convolutions},
      {"aten::convolution_backward", &convolution_gradients},
      {"aten::embedding_dense_backward", &embedding_gradients},
  };
  return kTable;
}

}  // namespace

void set_noise(uint64_t wanted) { seed = wanted; }

void disturb_product(at::Tensor& left, at::Tensor& right) {
  if (!seed.load(std::memory_order_relaxed)) return;
  Stack factors{left, right};
  products<0, 1>(factors);
  left = factors[0].toTensor();
  right = factors[1].toTensor();
}

Noise::Noise(const Operator& op, Stack& stack) {
  if (!seed.load(std::memory_order_relaxed)) return;
  const auto found = disturbed().find(op.handle.schema().name());
  if (found == disturbed().end()) return;
  order_ = found->second(stack);
  results_follow_ = found->second == &convolution_gradients;
}

void Noise::restore_order(Stack& results) const {
  if (!order_.defined() || !results_follow_ || !results[0].toTensor().defined()) return;
  reorder(results[0], 0, order_.argsort());
}

}  // namespace jitc::operators

#include "operators/composed/forms.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace jitc::operators {
namespace {

using Sizes = std::vector<int64_t>;
using Order = std::vector<int64_t>;

Order all_dimensions(size_t count) {
  Order order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Returns the strides of a tensor without gaps.
Sizes strides_of(c10::IntArrayRef sizes, const Order& order) {
  Sizes strides(sizes.size());
  int64_t next = 1;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto dimension = static_cast<size_t>(*at);
    strides[dimension] = next;
    next *= std::max<int64_t>(sizes[dimension], 1);
  }
  return strides;
}

void outermost_first(Order& dimensions, const Sizes& strides) {
  std::stable_sort(dimensions.begin(), dimensions.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  });
}

// Fourier transforms: dimensions transformed together lie innermost, the rest as in the operand. cuFFT takes
// up to three dimensions at a time; CUDA's code for real numbers takes them one by one if the first two are
// 0, 1.

constexpr size_t kMostTransformed = 3;

bool is_transformed_at_once(const Sizes& dimensions) {
  return dimensions.size() <= kMostTransformed &&
         (dimensions.size() < 2 || dimensions[0] != 0 || dimensions[1] != 1);
}

Order transformed(const Sizes& strides, const Sizes& dimensions) {
  Order outer, inner;
  for (const int64_t one : all_dimensions(strides.size()))
    (std::count(dimensions.begin(), dimensions.end(), one) ? inner : outer).push_back(one);
  outermost_first(outer, strides);
  outer.insert(outer.end(), inner.begin(), inner.end());
  return outer;
}

struct Transform {
  at::Tensor operand;
  Sizes dimensions;  // transformed ones
  Sizes strides() const { return operand.strides().vec(); }
  bool is_sound() const {
    const auto known = [&](int64_t one) { return one >= 0 && one < operand.dim(); };
    return !dimensions.empty() && std::all_of(dimensions.begin(), dimensions.end(), known);
  }
};

Transform transform(const Call& call) { return {call.stack[0].toTensor(), call.stack[1].toIntVector()}; }

std::vector<Forms::Form> complex_to_complex(const Call& call) {
  const auto in = transform(call);
  if (!in.is_sound()) return {};
  return {{0, transformed(in.strides(), in.dimensions)}};
}

std::vector<Forms::Form> complex_to_real(const Call& call) {
  const auto in = transform(call);
  if (!in.is_sound()) return {};
  const auto sizes = in.operand.sizes();
  const Order packed = all_dimensions(sizes.size());
  if (is_transformed_at_once(in.dimensions))
    return {{0, transformed(strides_of(sizes, packed), in.dimensions)}};
  const Sizes first(in.dimensions.begin(), in.dimensions.end() - 1);
  return {{0, transformed(strides_of(sizes, transformed(in.strides(), first)), {in.dimensions.back()})}};
}

std::vector<Forms::Form> real_to_complex(const Call& call) {
  const auto in = transform(call);
  if (!in.is_sound()) return {};
  if (is_transformed_at_once(in.dimensions)) return {{0, transformed(in.strides(), in.dimensions)}};
  const int64_t last = in.dimensions.back();
  Sizes sizes = in.operand.sizes().vec();
  const auto half = sizes[static_cast<size_t>(last)] / 2 + 1;
  // The other half is filled in afterwards, in another tensor.
  if (!call.stack[3].toBool() && half != sizes[static_cast<size_t>(last)]) return {{0, {}}};
  sizes[static_cast<size_t>(last)] = half;
  Order order = transformed(in.strides(), {last});
  for (Sizes left(in.dimensions.begin(), in.dimensions.end() - 1); !left.empty();) {
    const Sizes strides = strides_of(sizes, order);
    outermost_first(left, strides);
    const auto first = left.end() - static_cast<ptrdiff_t>(std::min(kMostTransformed, left.size()));
    order = transformed(strides, {first, left.end()});
    left.erase(first, left.end());
  }
  return {{0, std::move(order)}};
}

template <size_t kResult>
std::vector<Forms::Form> packed(const Call&) {
  return {{kResult, {}}};
}

struct NamedForms {
  std::string_view name;
  std::vector<Forms::Form> (*forms)(const Call&);
};
constexpr NamedForms kForms[] = {
    {"aten::_linalg_svd", &packed<2>},  // V transposed
    {"aten::linalg_eig", &packed<1>},     {"aten::max_unpool2d", &packed<0>},
    {"aten::max_unpool3d", &packed<0>},   {"aten::_fft_c2c", &complex_to_complex},
    {"aten::_fft_c2r", &complex_to_real}, {"aten::_fft_r2c", &real_to_complex},
};

}  // namespace

Forms::Forms(const Call& call) {
  const auto& schema = call.op->handle.schema();
  if (!schema.overload_name().empty()) return;
  for (const auto& [name, forms] : kForms)
    if (name == schema.name()) forms_ = forms(call);
}

void Forms::apply(torch::jit::Stack& results) const {
  for (const auto& [index, order] : forms_) {
    const at::Tensor result = results.at(index).toTensor();
    const auto strides =
        strides_of(result.sizes(), order.empty() ? all_dimensions(static_cast<size_t>(result.dim())) : order);
    if (result.strides() != c10::IntArrayRef(strides))
      results[index] = at::empty_strided(result.sizes(), strides, result.options());
  }
}

}  // namespace jitc::operators

// Checks of operators with spatial windows: pads, pools, samples, transforms, ranges.
#include <ATen/ops/isfinite.h>
#include <ATen/ops/resize.h>

#include <algorithm>
#include <cmath>

#include "operators/checks/checks.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

constexpr int64_t kFarthest = int64_t{1} << 31;  // of a window; kernels add a few of them

/// Requires that grad_output is self with other sizes in the last dimensions.
void gradient(const Operands& in, std::string_view of, at::IntArrayRef space) {
  auto wanted = in.tensor(of).sizes().vec();
  TORCH_CHECK(wanted.size() > space.size(), "Expected more than ", space.size(), " dimensions for argument '",
              of, "', but it has size ", wanted);
  std::copy(space.begin(), space.end(), wanted.end() - static_cast<std::ptrdiff_t>(space.size()));
  in.sizes("grad_output", wanted);
}

/// Returns the sizes of self's last dimensions with padding on both sides.
Sizes padded(const Operands& in, size_t space) {
  const auto padding = in.integers("padding");
  const auto sizes = in.tensor("self").sizes();
  TORCH_CHECK(padding.size() == 2 * space && sizes.size() > space, "Expected ", 2 * space,
              " numbers for argument 'padding' and dimensions for them");
  Sizes wanted(sizes.end() - static_cast<std::ptrdiff_t>(space), sizes.end());
  for (size_t i = 0; i < space; ++i) wanted[space - 1 - i] += padding[2 * i] + padding[2 * i + 1];
  return wanted;
}

/// Requires the six numbers that the kernel reads.
void pad_3d(const Operands& in) { in.list_length("padding", 6); }

void pad_1d_backward(const Operands& in) { gradient(in, "self", padded(in, 1)); }
void pad_2d_backward(const Operands& in) { gradient(in, "self", padded(in, 2)); }
void pad_3d_backward(const Operands& in) { gradient(in, "self", padded(in, 3)); }

/// Checks pools of means: grad_output is self's, for any size of its space (which PyTorch checks).
void pool(const Operands& in, size_t space) {
  const auto sizes = in.tensor("grad_output").sizes();
  TORCH_CHECK(sizes.size() > space, "Expected more than ", space,
              " dimensions for argument 'grad_output', but it has size ", sizes);
  gradient(in, "self", sizes.slice(sizes.size() - space));
  TORCH_CHECK(in.tensor("self").numel() > 0 || in.tensor("grad_output").numel() == 0,
              "Expected elements in argument 'self'");
}

void pool_2d_backward(const Operands& in) { pool(in, 2); }
void pool_3d_backward(const Operands& in) { pool(in, 3); }

void windows(const Operands& in) {
  for (const int64_t one : in.integers("kernel_size"))
    TORCH_CHECK(one > 0 && one <= kFarthest, "Argument 'kernel_size' is out of range");
}

// Convolutions of two or three dimensions.

void reach(const Operands& in) {
  for (const auto* name : {"stride", "padding", "dilation", "output_padding"})
    if (in.has(name))
      for (const int64_t one : in.integers(name))
        TORCH_CHECK(one >= -kFarthest && one <= kFarthest, "Argument '", name, "' is out of range");
}

void convolution(const Operands& in) {
  const auto kernel = in.integers("kernel_size");
  const auto weight = in.tensor("weight").sizes();
  const auto space = static_cast<int64_t>(kernel.size());
  in.dimensions("self", space + 1, space + 2);
  in.dimensions("weight", space + 2, space + 2);
  TORCH_CHECK(space > 1 && weight.slice(2) == kernel, "Expected argument 'weight' to be of kernels of size ",
              kernel, ", but it has size ", weight);
  for (const auto* name : {"stride", "padding", "dilation", "output_padding"}) {
    if (!in.has(name)) continue;
    in.list_length(name, kernel.size());
    for (const int64_t one : in.integers(name))
      TORCH_CHECK(one >= 0 && one <= kFarthest, "Argument '", name, "' is out of range");
  }
}

void grid_sampler_backward(const Operands& in) {
  const auto& grid = in.tensor("grid");
  const auto& input = in.tensor("input");
  TORCH_CHECK(grid.dim() == input.dim() && grid.dim() > 2,
              "Expected arguments 'input' and 'grid' to have as many dimensions");
  gradient(in, "input", grid.sizes().slice(1, grid.sizes().size() - 2));
  in.list_length("output_mask", 2);
  TORCH_CHECK(at::isfinite(grid).all().item().toBool(),
              "Expected argument 'grid' without infinities and NaNs");
}

void unfold_backward(const Operands& in) {
  auto wanted = in.integers("input_sizes");
  const int64_t count = static_cast<int64_t>(wanted.size()),
                dim = at::maybe_wrap_dim(in.integer("dim"), count);
  const int64_t size = in.integer("size"), step = in.integer("step");
  if (!count) return;
  auto& length = wanted[static_cast<size_t>(dim)];
  TORCH_CHECK(size >= 0 && size <= length && step > 0,
              "Expected windows of 'size' within the dimension, and a 'step' above zero");
  length = (length - size) / step + 1;
  wanted.push_back(size);
  in.sizes("grad_in", wanted);
}

void convolution_backward(const Operands& in) {
  convolution(in);
  for (const auto* name : {"self", "grad_output"}) in.dense(name);
}

// Smoothed resizing: the kernel uses even a factor that points outside of the input.

void smooth_resize(const Operands& in, at::IntArrayRef from, at::IntArrayRef to) {
  constexpr std::string_view kFactors[] = {"scales_h", "scales_w"};
  if (in.boolean("align_corners")) return;
  for (size_t i = 0; i < 2; ++i) {
    const auto factor = in.real(kFactors[i]);
    if (!factor || *factor <= 0) continue;
    const double last = (static_cast<double>(to[i]) - 0.5) / *factor;
    TORCH_CHECK(last < static_cast<double>(from[i]), "Expected argument '", kFactors[i], "' to lead from ",
                from[i], " to ", to[i]);
  }
}

void smooth(const Operands& in) {
  in.dimensions("self", 4, 4);
  in.list_length("output_size", 2);
  smooth_resize(in, in.tensor("self").sizes().slice(2), in.integers("output_size"));
}

void smooth_backward(const Operands& in) {
  in.list_length("output_size", 2);
  in.list_length("input_size", 4);
  smooth_resize(in, at::IntArrayRef(in.integers("input_size")).slice(2), in.integers("output_size"));
}

// Fourier transforms.

void transformed_dimensions(const Operands& in) {
  auto dims = in.integers("dim");
  const int64_t normalization = in.integer("normalization");
  TORCH_CHECK(normalization >= 0 && normalization <= 2, "Expected argument 'normalization' to be 0, 1 or 2");
  const int64_t count = in.tensor("self").dim();
  std::sort(dims.begin(), dims.end());
  TORCH_CHECK(dims.empty() || (dims.front() >= 0 && dims.back() < count &&
                               std::adjacent_find(dims.begin(), dims.end()) == dims.end()),
              "Expected argument 'dim' to name dimensions of 'self' from 0 to ", count - 1, ", each once");
}

void complex_fft(const Operands& in) { transformed_dimensions(in); }

void real_fft(const Operands& in) {
  transformed_dimensions(in);
  TORCH_CHECK(!in.integers("dim").empty(), "Expected dimensions in argument 'dim'");
}

void complex_to_real_fft(const Operands& in) {
  real_fft(in);
  const int64_t length = in.tensor("self").size(in.integers("dim").back()),
                wanted = in.integer("last_dim_size");
  TORCH_CHECK(wanted > 0 && wanted / 2 + 1 == length, "Expected the last dimension of 'dim' to have ",
              wanted / 2 + 1, " elements, but it has ", length);
}

// Others.

/// Checks the distance, which the kernels divide as integers and which must not overflow.
void range(const Operands& in) {
  constexpr double kMost = 0x1p61;
  if (!in.has("out") || !c10::isIntegralType(in.tensor("out").scalar_type(), true)) return;
  for (const auto* name : {"start", "end", "step"})
    if (in.has(name))
      TORCH_CHECK(std::abs(in.number(name).to<double>()) < kMost, "Argument '", name, "' is too large");
  TORCH_CHECK(!in.has("step") || in.number("step").to<int64_t>() != 0, "step must be nonzero");
}

/// Checks the output: the kernel writes there, for any size.
void rrelu(const Operands& in) {
  in.dense("noise");
  if (in.has("out")) in.tensor("out").resize_(in.tensor("self").sizes());
}

void transform_qkv(const Operands& in) {
  in.dimensions("qkv", 3, 3);
  TORCH_CHECK(in.tensor("qkv").numel() > 0, "Expected elements in argument 'qkv'");
  const int64_t width = in.tensor("qkv").size(2), heads = in.integer("num_heads");
  TORCH_CHECK(width > 0 && heads > 0 && width % (3 * heads) == 0, "Expected ", width,
              " numbers of 'qkv' to be those of 3 times ", heads, " heads");
  in.sizes("qkv_bias", {width});
  in.same_type("qkv_bias", "qkv");
}

void heads(const Operands& in, std::string_view name) {
  const int64_t width = in.integer("embed_dim"), count = in.integer(name);
  TORCH_CHECK(count > 0 && width > 0 && width % count == 0, "Expected 'embed_dim' to be a multiple of '",
              name, "'");
}

void encoder_layer(const Operands& in) {
  heads(in, "num_heads");
  for (const auto* name : {"qkv_weight", "qkv_bias", "proj_weight", "proj_bias"}) in.same_type(name, "src");
}

void attention(const Operands& in) {
  heads(in, "num_head");
  for (const auto* name : {"qkv_weight", "qkv_bias", "proj_weight", "proj_bias"}) in.same_type(name, "query");
}

constexpr NamedCheck kChecks[] = {
    {"reflection_pad1d_backward", &pad_1d_backward},
    {"reflection_pad2d_backward", &pad_2d_backward},
    {"reflection_pad3d_backward", &pad_3d_backward},
    {"replication_pad1d_backward", &pad_1d_backward},
    {"replication_pad2d_backward", &pad_2d_backward},
    {"replication_pad3d_backward", &pad_3d_backward},
    {"_adaptive_avg_pool2d_backward", &pool_2d_backward},
    {"_adaptive_avg_pool3d_backward", &pool_3d_backward},
    {"adaptive_avg_pool3d_backward", &pool_3d_backward},
    {"reflection_pad3d", &pad_3d},
    {"avg_pool2d_backward", &pool_2d_backward},
    {"avg_pool3d_backward", &pool_3d_backward},
    {"convolution", &reach},
    {"_convolution", &reach},
    {"convolution_backward", &reach},
    {"_slow_conv2d_forward", &convolution},
    {"_slow_conv2d_backward", &convolution_backward},
    {"slow_conv_transpose2d", &convolution},
    {"slow_conv_transpose3d", &convolution},
    {"_upsample_bilinear2d_aa", &smooth},
    {"_upsample_bicubic2d_aa", &smooth},
    {"_upsample_bilinear2d_aa_backward", &smooth_backward},
    {"_upsample_bicubic2d_aa_backward", &smooth_backward},
    {"_transformer_encoder_layer_fwd", &encoder_layer},
    {"_native_multi_head_attention", &attention},
    {"grid_sampler_2d_backward", &grid_sampler_backward},
    {"grid_sampler_3d_backward", &grid_sampler_backward},
    {"unfold_backward", &unfold_backward},
    {"_fft_c2c", &complex_fft},
    {"_fft_r2c", &real_fft},
    {"_fft_c2r", &complex_to_real_fft},
    {"range", &range},
    {"arange", &range},
    {"rrelu_with_noise", &rrelu},
    {"rrelu_with_noise_", &rrelu},
    {"fractional_max_pool2d", &windows},
    {"fractional_max_pool3d", &windows},
    {"_transform_bias_rescale_qkv", &transform_qkv},
};

}  // namespace

std::span<const NamedCheck> window_checks() { return kChecks; }

}  // namespace jitc::operators

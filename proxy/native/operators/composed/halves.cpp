#include "operators/composed/halves.h"

#include <algorithm>
#include <array>

namespace jitc::operators {
namespace {

using at::Tensor;
using c10::ScalarType;

/// Operators found by comparing the types that PyTorch's own samples (OpInfo) name for CUDA and for the CPU.
constexpr std::array<std::string_view, 20> kBoth{
    "aten::_upsample_bicubic2d_aa",
    "aten::_upsample_bicubic2d_aa.out",
    "aten::_upsample_bicubic2d_aa_backward",
    "aten::_upsample_bilinear2d_aa",
    "aten::_upsample_bilinear2d_aa.out",
    "aten::_upsample_bilinear2d_aa_backward",
    "aten::avg_pool3d",
    "aten::avg_pool3d.out",
    "aten::avg_pool3d_backward",
    "aten::avg_pool3d_backward.grad_input",
    "aten::multi_margin_loss",
    "aten::multi_margin_loss.out",
    "aten::multi_margin_loss_backward",
    "aten::multi_margin_loss_backward.grad_input",
    "aten::multilabel_margin_loss_forward",
    "aten::multilabel_margin_loss_forward.output",
    "aten::multilabel_margin_loss_backward",
    "aten::multilabel_margin_loss_backward.grad_input",
    "aten::trace",
    "aten::trace.out",
};
constexpr std::array<std::string_view, 9> kHalfAlone{
    "aten::_fft_c2c",          "aten::_fft_c2c.out", "aten::_fft_c2r",         "aten::_fft_c2r.out",
    "aten::_fft_r2c",          "aten::_fft_r2c.out", "aten::rrelu_with_noise", "aten::rrelu_with_noise.out",
    "aten::rrelu_with_noise_",
};

ScalarType wide_of(ScalarType type) {
  return type == ScalarType::ComplexHalf ? ScalarType::ComplexFloat : ScalarType::Float;
}

bool is_half(ScalarType type, Halves which) {
  if (type == ScalarType::BFloat16) return which == Halves::kBoth;
  return type == ScalarType::Half || type == ScalarType::ComplexHalf;
}

}  // namespace

Halves halves_in_float(std::string_view name) {
  if (std::find(kBoth.begin(), kBoth.end(), name) != kBoth.end()) return Halves::kBoth;
  if (std::find(kHalfAlone.begin(), kHalfAlone.end(), name) != kHalfAlone.end()) return Halves::kHalfAlone;
  return Halves::kNone;
}

WidenedHalves::WidenedHalves(const Operator& op, torch::jit::Stack& arguments) {
  if (op.halves == Halves::kNone) return;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].isTensor()) continue;
    const Tensor given = arguments[i].toTensor();
    if (!given.defined() || !is_half(given.scalar_type(), op.halves)) continue;
    const Tensor wide = widened(given);
    if (op.written[i]) written_.emplace_back(given, wide);
    arguments[i] = wide;
  }
}

Tensor WidenedHalves::widened(const Tensor& given) {
  narrow_ = given.scalar_type() == ScalarType::BFloat16 ? ScalarType::BFloat16 : ScalarType::Half;
  return given.to(wide_of(given.scalar_type()));
}

void WidenedHalves::round(torch::jit::Stack& results) const {
  if (!narrow_) return;
  put_back(written_, results);
  for (auto& one : results) {
    if (!one.isTensor() || !one.toTensor().defined()) continue;
    const Tensor result = one.toTensor();
    if (result.scalar_type() == ScalarType::Float)
      one = result.to(*narrow_);
    else if (result.scalar_type() == ScalarType::ComplexFloat)
      one = result.to(ScalarType::ComplexHalf);
  }
}

}  // namespace jitc::operators

#include "special/products.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/addmm_cuda_dispatch.h>

#include <vector>

namespace jitc::torch_device {
namespace {

using at::Scalar;
using at::Tensor;

/// cuBLASLt adds a row to all rows of the product. PyTorch's conditions for that, the strictest of its
/// releases.
bool is_bias(const Tensor& summand, const Tensor& right, const Scalar& beta) {
  const auto type = summand.scalar_type();
  const bool served = type == at::kDouble || type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
  return served && summand.dim() == 1 && summand.is_contiguous() && right.dim() == 2 &&
         summand.size(0) == right.size(1) && right.size(0) > 1 && right.size(1) > 1 && !beta.isComplex() &&
         beta.toComplexDouble() == 1.0;
}

/// As it is where it does not fit: PyTorch says so.
Tensor shaped(const Tensor& summand, const Tensor& left, const Tensor& right, const Scalar& beta) {
  if (left.dim() != 2 || right.dim() != 2 || is_bias(summand, right, beta)) return summand;
  const std::vector<int64_t> wanted{left.size(0), right.size(1)};
  if (summand.sizes() == at::IntArrayRef(wanted)) return summand.contiguous();
  if (!at::is_expandable_to(summand.sizes(), wanted)) return summand;
  return summand.expand(wanted).contiguous();
}

Tensor addmm(const Tensor& summand, const Tensor& left, const Tensor& right, const Scalar& beta,
             const Scalar& alpha) {
  return at::cuda::addmm(shaped(summand, left, right, beta), left, right, beta, alpha);
}

/// A result that does not lie densely would be filled by a kernel too.
Tensor& addmm_out(const Tensor& summand, const Tensor& left, const Tensor& right, const Scalar& beta,
                  const Scalar& alpha, Tensor& out) {
  if (out.is_contiguous() && !out.is_same(summand))
    return at::cuda::addmm_outf(shaped(summand, left, right, beta), left, right, beta, alpha, out);
  const Tensor made = addmm(summand, left, right, beta, alpha);
  at::native::resize_output(out, made.sizes());
  return out.copy_(made);
}

}  // namespace

void serve_products(torch::Library& library) {
  library.impl("addmm", TORCH_FN(addmm));
  library.impl("addmm.out", TORCH_FN(addmm_out));
}

}  // namespace jitc::torch_device

// Checks of sizes that must fit together: losses, optimizers, distances and softmax.
#include <ATen/ExpandUtils.h>

#include "operators/checks/checks.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

// Losses.

/// Requires a gradient for each target, or one for all of them.
void loss_gradient(const Operands& in, at::IntArrayRef sizes) {
  constexpr int64_t kNone = 0;
  if (in.integer("reduction") == kNone)
    in.sizes("grad_output", sizes);
  else
    in.elements("grad_output", 1);
}

void multilabel_margin_loss_backward(const Operands& in) {
  const auto sizes = in.tensor("self").sizes();
  loss_gradient(in, sizes.size() < 2 ? at::IntArrayRef{} : sizes.slice(0, 1));
  in.same_sizes("target", "self");
  in.same_sizes("is_target", "self");
}

void nll_loss_2d_backward(const Operands& in) {
  in.dimensions("self", 4, 4);
  const auto sizes = in.tensor("self").sizes();
  in.sizes("target", {sizes[0], sizes[2], sizes[3]});
  loss_gradient(in, in.tensor("target").sizes());
  in.sizes_if_given("weight", {sizes[1]});
  in.elements("total_weight", 1);
  const auto& target = in.tensor("target");
  const auto used = target.ne(in.integer("ignore_index"));
  Operands::indices(target.masked_select(used), "target", 0, sizes[1]);
}

void smooth_l1_loss_backward(const Operands& in) { in.floating("self"); }

void multi_margin_loss_backward(const Operands& in) {
  loss_gradient(in, in.tensor("target").sizes());
  const auto& self = in.tensor("self");
  in.sizes_if_given("weight", {self.dim() ? self.size(-1) : 1});
}

// Fused optimizers: for each parameter, the kernels go equally far through the memory of all its lists.

void one_like_another(const Operands& in, std::string_view name, bool empty_allowed) {
  const auto parameters = in.tensors("self"), others = in.tensors(name);
  if (empty_allowed && others.empty()) return;
  TORCH_CHECK(parameters.size() == others.size(), "Expected a tensor of '", name, "' for each parameter");
  for (size_t i = 0; i < others.size(); ++i) {
    const auto &one = parameters[i], &other = others[i];
    TORCH_CHECK(other.defined() && one.sizes() == other.sizes() && one.scalar_type() == other.scalar_type(),
                "Expected tensor ", i, " of '", name, "' to be like its parameter");
    TORCH_CHECK(one.is_non_overlapping_and_dense() && other.is_non_overlapping_and_dense(), "Tensor ", i,
                " of '", name, "' or its parameter has gaps, which a fused optimizer is not made for");
  }
}

void one_number_each(const Operands& in, std::string_view name) {
  const auto given = in.tensors(name);
  TORCH_CHECK(given.size() == in.tensors("self").size(), "Expected a tensor of '", name,
              "' for each parameter");
  for (const Tensor& one : given)
    TORCH_CHECK(one.defined() && one.numel() == 1, "Expected tensors of one number in '", name, "'");
}

void scale_and_flag(const Operands& in) {
  for (const auto* name : {"grad_scale", "found_inf"})
    if (in.optional(name).defined()) in.elements(name, 1);
}

void fused_adam(const Operands& in) {
  for (const auto* name : {"grads", "exp_avgs", "exp_avg_sqs"}) one_like_another(in, name, false);
  one_like_another(in, "max_exp_avg_sqs", !in.boolean("amsgrad"));
  one_number_each(in, "state_steps");
  scale_and_flag(in);
}

void fused_sgd(const Operands& in) {
  one_like_another(in, "grads", false);
  one_like_another(in, "momentum_buffer_list", true);
  scale_and_flag(in);
}

void fused_adagrad(const Operands& in) {
  for (const auto* name : {"grads", "state_sums"}) one_like_another(in, name, false);
  one_number_each(in, "state_steps");
  scale_and_flag(in);
}

// Softmax, and operators along one dimension.

void softmax_backward(const Operands& in) {
  in.same_sizes("grad_output", "output");
  in.same_type("grad_output", "output");
  in.dimension("dim", in.tensor("output"));
}

void masked_softmax_backward(const Operands& in) {
  in.same_sizes("grad_output", "output");
  in.same_sizes("mask", "output");
}

void cumulative_helper(const Operands& in) {
  const auto& self = in.tensor("self");
  TORCH_CHECK(self.dim() > 0 && self.numel() > 0, "Expected argument 'self' to have elements and dimensions");
  const int64_t dim = in.integer("dim");
  TORCH_CHECK(dim >= 0 && dim < self.dim(), "Expected argument 'dim' to be from 0 to ", self.dim() - 1);
  for (const auto* name : {"values", "indices"}) {
    in.same_sizes(name, "self");
    // PyTorch's negation of such operands counts references wrongly for an operator without results.
    TORCH_CHECK(!in.tensor(name).is_neg(), "Expected argument '", name, "' without a negative bit");
  }
  TORCH_CHECK(!self.is_neg(), "Expected argument 'self' without a negative bit");
}

void log_cum_sum_exp(const Operands& in) {
  in.dimension("dim", in.tensor("self"));
  if (in.has("out")) in.same_type("out", "self");
}

void wide_enough(const Operands& in, const Tensor& given) {
  const auto dtype = in.integer_if_given("dtype");
  TORCH_CHECK(!dtype || !given.is_complex() || c10::isComplexType(static_cast<c10::ScalarType>(*dtype)),
              "Expected a complex dtype for the sum of complex numbers");
}

void power_sum(const Operands& in) { wide_enough(in, in.tensor("self")); }
void power_sums(const Operands& in) {
  for (const Tensor& one : in.tensors("self")) wide_enough(in, one);
}

/// Checks the chunks; a scalar has none.
void chunk_cat(const Operands& in) {
  for (const Tensor& one : in.tensors("tensors")) {
    TORCH_CHECK(one.dim() > 0, "Expected tensors with dimensions in argument 'tensors'");
    in.dimension("dim", one);
  }
}

void nested_strides(const Operands& in) {
  in.dimensions("nested_size", 2, 2);
  TORCH_CHECK(in.tensor("nested_size").numel() > 0, "Expected sizes in argument 'nested_size'");
}

// Distances and matrices.

/// Requires the distances between rows of x1 and rows of x2, contiguous.
void distances(const Operands& in, std::initializer_list<std::string_view> names, at::IntArrayRef sizes) {
  for (const auto name : names) {
    in.sizes(name, sizes);
    in.contiguous(name);
  }
}

void pdist(const Operands& in) { in.dimensions("self", 2, 2); }

void cdist_backward(const Operands& in) {
  const auto &x1 = in.tensor("x1"), &x2 = in.tensor("x2");
  TORCH_CHECK(x1.dim() >= 2 && x2.dim() >= 2 && x1.size(-1) == x2.size(-1),
              "Expected arguments 'x1' and 'x2' to have rows of one length");
  auto sizes =
      at::infer_size(x1.sizes().slice(0, x1.sizes().size() - 2), x2.sizes().slice(0, x2.sizes().size() - 2));
  sizes.insert(sizes.end(), {x1.size(-2), x2.size(-2)});
  for (const auto* name : {"grad", "cdist"}) in.sizes(name, sizes);
}

void pdist_backward(const Operands& in) {
  in.dimensions("self", 2, 2);
  const int64_t rows = in.tensor("self").size(0);
  TORCH_CHECK(rows > 0, "Expected rows in argument 'self'");
  distances(in, {"grad", "pdist"}, {rows * (rows - 1) / 2});
}

void cholesky_solve(const Operands& in) {
  const auto &self = in.tensor("self"), &factor = in.tensor("A");
  TORCH_CHECK(self.dim() >= 2, "Expected at least 2 dimensions for argument 'self'");
  auto wanted = self.sizes().vec();
  wanted.back() = self.size(-2);
  in.sizes("A", wanted);
  in.same_type("A", "self");
  TORCH_CHECK(factor.numel() > 0 || self.numel() == 0, "Expected elements in argument 'A'");
}

void linear_combination(const Operands& in) {
  in.dimensions("coefficients", 2, 2);
  in.same_type("coefficients", "input");
  const auto &input = in.tensor("input"), &coefficients = in.tensor("coefficients");
  TORCH_CHECK(input.dim() > 0 && input.numel() > 0 && input.size(0) == coefficients.size(1),
              "Expected a coefficient for each part of argument 'input', which must not be empty");
  auto wanted = input.sizes().vec();
  wanted[0] = coefficients.size(0);
  if (in.has("out")) in.sizes("out", wanted), in.same_type("out", "input");
}

constexpr NamedCheck kChecks[] = {
    {"nll_loss2d_backward", &nll_loss_2d_backward},
    {"smooth_l1_loss_backward", &smooth_l1_loss_backward},
    {"multilabel_margin_loss_backward", &multilabel_margin_loss_backward},
    {"multi_margin_loss_backward", &multi_margin_loss_backward},
    {"_fused_adam_", &fused_adam},
    {"_fused_adamw_", &fused_adam},
    {"_fused_sgd_", &fused_sgd},
    {"_fused_adagrad_", &fused_adagrad},
    {"_log_softmax_backward_data", &softmax_backward},
    {"_softmax_backward_data", &softmax_backward},
    {"_masked_softmax_backward", &masked_softmax_backward},
    {"_logcumsumexp", &log_cum_sum_exp},
    {"linalg__powsum", &power_sum},
    {"_foreach_powsum", &power_sums},
    {"_chunk_cat", &chunk_cat},
    {"_nested_compute_contiguous_strides_offsets", &nested_strides},
    {"_cummax_helper", &cumulative_helper},
    {"_cummin_helper", &cumulative_helper},
    {"_cdist_backward", &cdist_backward},
    {"_pdist_forward", &pdist},
    {"_pdist_backward", &pdist_backward},
    {"_cholesky_solve_helper", &cholesky_solve},
    {"_compute_linear_combination", &linear_combination},
};

}  // namespace

std::span<const NamedCheck> size_checks() { return kChecks; }

}  // namespace jitc::operators

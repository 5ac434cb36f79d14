// Checks of normalizations: their statistics and weights fit the input.
#include <c10/util/accumulate.h>

#include "operators/checks/checks.h"

namespace jitc::operators {
namespace {

// Batch norm: vectors of the channels, and statistics that are present when used.

int64_t channels(const Operands& in) {
  const auto& input = in.tensor("input");
  TORCH_CHECK(input.dim() >= 2, "Expected at least 2 dimensions for argument 'input', but it has size ",
              input.sizes());
  return input.size(1);
}

void of_channels(const Operands& in, std::initializer_list<std::string_view> names) {
  const int64_t count = channels(in);
  for (const auto name : names)
    if (in.has(name)) in.sizes_if_given(name, {count});
}

void statistics(const Operands& in, std::initializer_list<std::string_view> names) {
  for (const auto name : names)
    TORCH_CHECK(in.has(name) && in.optional(name).defined(), "Expected argument '", name,
                "' of batch norm where it is not computed from the batch");
}

void batch_norm(const Operands& in) {
  of_channels(in, {"weight", "bias", "running_mean", "running_var"});
  if (in.has("training") && !in.boolean("training")) statistics(in, {"running_mean", "running_var"});
}

/// Checks the backward pass; saved values are empty if the forward pass used running statistics.
void batch_norm_backward(const Operands& in) {
  of_channels(in, {"weight", "running_mean", "running_var"});
  TORCH_CHECK(channels(in) > 0, "Expected channels in argument 'input'");
  in.same_sizes("grad_out", "input");
  in.list_length("output_mask", 3);
  if (!in.boolean(in.has("train") ? "train" : "update"))
    return statistics(in, {"running_mean", "running_var"});
  const std::string_view deviation = in.has("save_var") ? "save_var" : "save_invstd";
  statistics(in, {"save_mean", deviation});
  of_channels(in, {"save_mean", deviation});
}

void layer_norm_backward(const Operands& in) {
  in.same_sizes("grad_out", "input");
  in.list_length("output_mask", 3);
  const auto shape = in.integers("normalized_shape");
  const auto sizes = in.tensor("input").sizes();
  TORCH_CHECK(shape.size() <= sizes.size(), "Expected 'input' to end with 'normalized_shape'");
  int64_t rows = 1;
  for (const int64_t one : sizes.slice(0, sizes.size() - shape.size())) rows *= one;
  for (const auto* name : {"mean", "rstd"}) in.elements(name, rows);
}

void group_norm_backward(const Operands& in) {
  const int64_t rows = in.integer("N"), count = in.integer("C"), group = in.integer("group");
  const auto& input = in.tensor("input");
  TORCH_CHECK(input.dim() >= 2 && input.size(0) == rows && input.size(1) == count,
              "Expected argument 'input' to have size ", rows, " and ", count, ", but it has ",
              input.sizes());
  const int64_t places = c10::multiply_integers(input.sizes().slice(2));
  TORCH_CHECK(in.integer("HxW") == places, "Expected argument 'HxW' to be ", places);
  in.same_sizes("grad_out", "input");
  for (const auto* name : {"grad_out", "input"}) in.dense(name);
  for (const auto* name : {"mean", "rstd"}) in.elements(name, rows * group), in.contiguous(name);
  TORCH_CHECK(group > 0 && count % group == 0, "Expected argument 'group' to divide ", count);
  if (in.optional("weight").defined()) in.elements("weight", count), in.contiguous("weight");
}

/// Requires that dim is the first or the last one, with as many norms as v has there.
void weight_norm_of(const Operands& in, std::string_view v, std::initializer_list<std::string_view> norms) {
  const auto& given = in.tensor(v);
  const int64_t dim = in.integer("dim");
  TORCH_CHECK(given.numel() > 0 && given.dim() > 0 && (dim == 0 || dim == given.dim() - 1),
              "Expected argument 'dim' to be the first or last dimension of '", v,
              "', which must not be empty");
  in.contiguous(v);
  for (const auto name : norms) in.elements(name, given.size(dim)), in.contiguous(name);
}

void weight_norm(const Operands& in) { weight_norm_of(in, "v", {"g"}); }

void weight_norm_backward(const Operands& in) {
  weight_norm_of(in, "saved_v", {"saved_g", "saved_norms"});
  in.same_sizes("grad_w", "saved_v");
  in.contiguous("grad_w");
}

constexpr NamedCheck kChecks[] = {
    {"native_batch_norm", &batch_norm},
    {"_native_batch_norm_legit", &batch_norm},
    {"_batch_norm_with_update", &batch_norm},
    {"batch_norm_update_stats", &batch_norm},
    {"native_batch_norm_backward", &batch_norm_backward},
    {"batch_norm_backward", &batch_norm_backward},
    {"native_layer_norm_backward", &layer_norm_backward},
    {"native_group_norm_backward", &group_norm_backward},
    {"_weight_norm_interface", &weight_norm},
    {"_weight_norm_interface_backward", &weight_norm_backward},
};

}  // namespace

std::span<const NamedCheck> norm_checks() { return kChecks; }

}  // namespace jitc::operators

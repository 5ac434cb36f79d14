// Checks of the operators in composed.cpp: the same as those of the CUDA operators.
#include <ATen/ExpandUtils.h>

#include "operators/checks/checks.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

/// Checks a recurrent cell, whose gates have factor parts for each number of its state.
void cell(const Operands& in, std::string_view state, int64_t factor) {
  for (const auto* name : {"input_gates", "hidden_gates"}) in.dimensions(name, 2, 2), in.floating(name);
  in.same_sizes("hidden_gates", "input_gates");
  in.same_type("hidden_gates", "input_gates");
  const auto gates = in.tensor("input_gates").sizes();
  TORCH_CHECK(gates[1] % factor == 0, "Expected the size ", gates[1], " of the gates to be a multiple of ",
              factor);
  in.sizes(state, {gates[0], gates[1] / factor});
  in.same_type(state, "input_gates");
  TORCH_CHECK(in.optional("input_bias").defined() == in.optional("hidden_bias").defined(),
              "Expected both biases of a cell or none");
  for (const auto* name : {"input_bias", "hidden_bias"}) in.sizes_if_given(name, {gates[1]});
}

void lstm_cell(const Operands& in) { cell(in, "cx", 4); }
void gru_cell(const Operands& in) { cell(in, "hx", 3); }

void lstm_cell_backward(const Operands& in) {
  in.dimensions("cx", 2, 2);
  in.floating("cx");
  const auto state = in.tensor("cx").sizes();
  in.sizes("cy", state);
  in.sizes_if_given("grad_hy", state);
  in.sizes_if_given("grad_cy", state);
  in.sizes("workspace", {state[0], 4 * state[1]});
}

void gru_cell_backward(const Operands& in) {
  in.dimensions("grad_hy", 2, 2);
  in.floating("grad_hy");
  const auto state = in.tensor("grad_hy").sizes();
  in.sizes("workspace", {state[0], 5 * state[1]});
}

/// Returns the sizes that are not averaged over, then ones.
Sizes rms_norm_input(const Operands& in) {
  in.floating("input");
  const auto shape = in.integers("normalized_shape");
  const auto sizes = in.tensor("input").sizes();
  const auto rows = static_cast<int64_t>(sizes.size()) - static_cast<int64_t>(shape.size());
  TORCH_CHECK(!shape.empty() && rows >= 0 && sizes.slice(static_cast<size_t>(rows)) == shape,
              "Given normalized_shape=", shape,
              ", expected input to end with these sizes, but got input of size ", sizes);
  in.sizes_if_given("weight", shape);
  Sizes kept(sizes.begin(), sizes.begin() + rows);
  kept.resize(sizes.size(), 1);
  return kept;
}

void rms_norm(const Operands& in) { rms_norm_input(in); }

void rms_norm_backward(const Operands& in) {
  in.sizes("rstd", rms_norm_input(in));
  in.same_sizes("grad_out", "input");
  in.list_length("output_mask", 2);
}

/// Returns the number of channels.
int64_t channels(const Operands& in) {
  const auto& input = in.tensor("input");
  in.floating("input");
  TORCH_CHECK(input.dim() >= 2,
              "Expected at least 2 dimensions for argument 'input' of synchronized batch norm, but "
              "it has size ",
              input.sizes());
  return input.size(1);
}

void of_channels(const Operands& in, std::initializer_list<std::string_view> names) {
  const int64_t count = channels(in);
  for (const auto name : names) {
    in.sizes_if_given(name, {count});
    if (in.optional(name).defined()) in.floating(name);
  }
}

void batch_norm_stats(const Operands& in) { channels(in); }

void batch_norm_elemt(const Operands& in) {
  in.tensor("mean"), in.tensor("invstd");
  of_channels(in, {"weight", "bias", "mean", "invstd"});
}

void batch_norm_gather(const Operands& in) {
  const int64_t count = channels(in);
  in.dimensions("mean", 2, 2);
  in.floating("mean");
  in.sizes("mean", {in.tensor("mean").size(0), count});
  in.same_sizes("invstd", "mean");
  if (in.has("counts")) in.elements("counts", in.tensor("mean").size(0));
  of_channels(in, {"running_mean", "running_var"});
}

void batch_norm_backward_reduce(const Operands& in) {
  in.tensor("mean"), in.tensor("invstd");
  in.same_sizes("grad_out", "input");
  of_channels(in, {"mean", "invstd", "weight"});
}

void batch_norm_backward_elemt(const Operands& in) {
  for (const auto* name : {"mean", "invstd", "sum_dy", "sum_dy_xmu", "count"}) in.tensor(name);
  in.same_sizes("grad_out", "input");
  of_channels(in, {"mean", "invstd", "weight", "sum_dy", "sum_dy_xmu"});
}

void masked_scale(const Operands& in) {
  in.floating("self");
  in.same_sizes("mask", "self");
}

/// Refuses sequences of several lengths in one tensor, and the weights as a result: not computed here.
void plain_attention_alone(const Operands& in) {
  for (const auto* name : {"cum_seq_q", "cum_seq_k"})
    TORCH_CHECK_NOT_IMPLEMENTED(
        !in.has(name) || !in.optional(name).defined(),
        "The software device does not have attention with sequences of several lengths "
        "in one tensor (argument '",
        name, "')");
  TORCH_CHECK_NOT_IMPLEMENTED(!in.has("return_debug_mask") || !in.boolean("return_debug_mask"),
                              "The software device does not have fused attention with return_debug_mask");
}

/// Requires (batch, heads, length, width): same batch, keys like values, whole groups of the query's heads.
void attention(const Operands& in) {
  plain_attention_alone(in);
  for (const auto* name : {"query", "key", "value"}) in.dimensions(name, 4, 4), in.floating(name);
  const auto &query = in.tensor("query"), &key = in.tensor("key"), &value = in.tensor("value");
  in.sizes("key", {query.size(0), key.size(1), key.size(2), query.size(3)});
  in.sizes("value", {query.size(0), key.size(1), key.size(2), value.size(3)});
  TORCH_CHECK(key.size(1) > 0 && query.size(1) % key.size(1) == 0,
              "Expected argument 'query' to have a multiple of the ", key.size(1),
              " heads of 'key', but it has ", query.size(1));
  const Sizes scores{query.size(0), query.size(1), query.size(2), key.size(2)};
  const Tensor bias = in.has("attn_bias") ? in.optional("attn_bias") : Tensor();
  TORCH_CHECK(!bias.defined() || at::is_expandable_to(bias.sizes(), scores),
              "Expected argument 'attn_bias' to be expandable to ", scores, ", but it has size ",
              bias.defined() ? bias.sizes() : at::IntArrayRef{});
  const double dropout = in.real("dropout_p").value_or(0);
  TORCH_CHECK(dropout >= 0 && dropout <= 1, "Expected argument 'dropout_p' to be a probability, but it is ",
              dropout);
}

/// Checks the backward pass; the random state is used only with dropout.
void attention_backward(const Operands& in, const char* grad) {
  attention(in);
  const auto &query = in.tensor("query"), &value = in.tensor("value");
  const Sizes result{query.size(0), query.size(1), query.size(2), value.size(3)};
  in.sizes(grad, result);
  in.sizes("out", result);
  if (in.real("dropout_p").value_or(0) == 0) return;
  for (const auto* name : {"philox_seed", "philox_offset"})
    TORCH_CHECK(in.tensor(name).numel() > 0, "Expected argument '", name,
                "' to hold the number that the mask of the dropout follows from");
}

void flash_backward(const Operands& in) {
  attention_backward(in, "grad_out");
  in.sizes("logsumexp", in.tensor("query").sizes().slice(0, 3));
}

/// Checks the backward pass; the log-sum-exp may have more rows than there are queries.
void efficient_backward(const Operands& in) {
  attention_backward(in, "grad_out_");
  in.list_length("grad_input_mask", 4);
  const auto wanted = in.tensor("query").sizes();
  const auto sums = in.tensor("logsumexp").sizes();
  TORCH_CHECK(sums.size() == 3 && sums.slice(0, 2) == wanted.slice(0, 2) && sums[2] >= wanted[2],
              "Expected argument 'logsumexp' to have size ", wanted.slice(0, 3),
              ", or more rows, but it has size ", sums);
}

/// Checks the backward pass; the log-sum-exp's last dimension of one depends on PyTorch's release.
void cudnn_backward(const Operands& in) {
  attention_backward(in, "grad_out");
  Sizes sums = in.tensor("query").sizes().slice(0, 3).vec();
  if (in.tensor("logsumexp").dim() == 4) sums.push_back(1);
  in.sizes("logsumexp", sums);
}

constexpr NamedCheck kChecks[] = {
    {"_scaled_dot_product_flash_attention", &attention},
    {"_scaled_dot_product_flash_attention_backward", &flash_backward},
    {"_scaled_dot_product_efficient_attention", &attention},
    {"_scaled_dot_product_efficient_attention_backward", &efficient_backward},
    {"_scaled_dot_product_cudnn_attention", &attention},
    {"_scaled_dot_product_cudnn_attention_backward", &cudnn_backward},
    {"_thnn_fused_lstm_cell", &lstm_cell},
    {"_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward},
    {"_thnn_fused_gru_cell", &gru_cell},
    {"_thnn_fused_gru_cell_backward", &gru_cell_backward},
    {"_fused_rms_norm", &rms_norm},
    {"_fused_rms_norm_backward", &rms_norm_backward},
    {"batch_norm_stats", &batch_norm_stats},
    {"batch_norm_elemt", &batch_norm_elemt},
    {"batch_norm_gather_stats", &batch_norm_gather},
    {"batch_norm_gather_stats_with_counts", &batch_norm_gather},
    {"batch_norm_backward_reduce", &batch_norm_backward_reduce},
    {"batch_norm_backward_elemt", &batch_norm_backward_elemt},
    {"_masked_scale", &masked_scale},
};

}  // namespace

std::span<const NamedCheck> composed_checks() { return kChecks; }

}  // namespace jitc::operators

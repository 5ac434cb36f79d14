// Checks of operands that hold indices into others: PyTorch's CPU kernels use them without a check.
//
// Only indices that a kernel uses are checked: a padded row of targets may hold any value behind its end.
#include <ATen/ops/diff.h>

#include <numeric>

#include "operators/checks/checks.h"

namespace jitc::operators {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

int64_t product(at::IntArrayRef sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// Returns a list of integers, or a tensor of them, as a list.
Sizes numbers(const Operands& in, std::string_view name) {
  if (!in.is_tensor(name)) return in.integers(name);
  const Tensor given = in.tensor(name).to(at::kLong).contiguous().resolve_neg();
  return {given.const_data_ptr<int64_t>(), given.const_data_ptr<int64_t>() + given.numel()};
}

/// Requires ascending numbers along the last dimension.
void ascending(const Operands& in, std::string_view name) {
  const auto& given = in.tensor(name);
  TORCH_CHECK(given.dim() > 0, "Expected dimensions for argument '", name, "'");
  if (given.size(-1) < 2 || !given.numel()) return;
  const auto steps = at::diff(given.to(at::kLong));  // a difference of unsigned numbers is never negative
  TORCH_CHECK(steps.ge(0).all().item().toBool(), "Expected argument '", name, "' to be in ascending order");
}

// Gradients of max pools: each number of grad_output goes to the index that indices names.

void pool(const Operands& in, size_t space) {
  const auto& self = in.tensor("self");
  const auto& grad = in.tensor("grad_output");
  const auto least = static_cast<int64_t>(space) + 1;
  in.dimensions("self", least, least + 1);
  in.same_sizes("indices", "grad_output");
  in.dense("indices");
  if (in.has("output_size")) in.list_length("output_size", space);
  const auto leading = self.sizes().size() - space;
  TORCH_CHECK(grad.dim() == self.dim() && grad.sizes().slice(0, leading) == self.sizes().slice(0, leading),
              "Expected argument 'grad_output' to have the batch and channels of 'self', but it has size ",
              grad.sizes(), " where that has ", self.sizes());
  in.indices("indices", 0, product(self.sizes().slice(leading)));
}

void pool_2d(const Operands& in) { pool(in, 2); }
void pool_3d(const Operands& in) { pool(in, 3); }

// Embeddings.

void embedding_backward(const Operands& in) { in.indices("indices", 0, in.integer("num_weights")); }

/// Checks offsets of bags in indices; they define the bags if offset2bag is not given.
void bags(const Operands& in) {
  for (const auto* name : {"indices", "offsets"}) in.dimensions(name, 1, 1), in.contiguous(name);
  in.indices("offsets", 0, in.tensor("indices").numel() + 1);
  ascending(in, "offsets");
}

/// Reduction of a bag's numbers to one.
enum Mode : int64_t { kSum, kMean, kMax };
void mode(const Operands& in) {
  const int64_t given = in.integer("mode");
  TORCH_CHECK(given >= kSum && given <= kMax, "Expected argument 'mode' to be 0, 1 or 2, but it is ", given);
}

void embedding_bag(const Operands& in) {
  bags(in);
  in.dimensions("weight", 2, 2);
  in.indices("indices", 0, in.tensor("weight").size(0));
  mode(in);
  const Tensor weights = in.optional("per_sample_weights");
  if (weights.defined()) in.same_sizes("per_sample_weights", "indices");
}

/// Checks the bag of each index, as a row of grad.
void bag_of_each(const Operands& in) {
  in.dimensions("grad", 2, 2);
  in.dimensions("indices", 1, 1);
  const int64_t rows = in.tensor("grad").size(0);
  if (in.tensor("offset2bag").numel()) {
    in.same_sizes("offset2bag", "indices");
    in.contiguous("offset2bag");
    in.indices("offset2bag", 0, rows);
  } else if (in.has("offsets")) {
    bags(in);
    const int64_t count = in.tensor("indices").numel();  // later bags are empty
    Operands::indices(in.tensor("offsets").slice(0, rows), "offsets", count, count + 1);
  } else {
    in.elements("indices", 0);
  }
}

/// Checks the sizes; CUDA's kernel has one bag more with include_last_offset.
template <bool kOneMore>
void embedding_bag_backward(const Operands& in) {
  mode(in);
  bag_of_each(in);
  const int64_t weights = in.integer("num_weights");
  in.indices("indices", 0, weights);
  in.dimensions("bag_size", 1, 1);
  const int64_t rows = in.tensor("grad").size(0), sizes = in.tensor("bag_size").numel();
  TORCH_CHECK(sizes == rows || (kOneMore && sizes == rows + 1), "Expected argument 'bag_size' to have ", rows,
              " elements, but it has ", sizes);
  if (in.integer("mode") == kMax) {
    in.same_sizes("maximum_indices", "grad");
    in.indices("maximum_indices", -1, weights);
  }
  const Tensor samples = in.optional("per_sample_weights");
  if (samples.defined()) in.same_sizes("per_sample_weights", "indices");
}

void embedding_bag_samples_backward(const Operands& in) {
  bag_of_each(in);
  in.dimensions("weight", 2, 2);
  in.indices("indices", 0, in.tensor("weight").size(0));
}

// Connectionist temporal classification.

/// Checks the labels used of each sequence; rows may be padded with any value.
void ctc_targets(const Operands& in, const Sizes& lengths, int64_t labels) {
  const Tensor targets = in.tensor("targets");
  in.dimensions("targets", 1, 2);
  if (targets.dim() == 1) {
    in.contiguous("targets");
    const int64_t used = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    TORCH_CHECK(used <= targets.numel(), "Expected 'targets' to have as many labels as 'target_lengths' say");
    return Operands::indices(targets.narrow(0, 0, used), "targets", 0, labels);
  }
  TORCH_CHECK(targets.size(0) >= static_cast<int64_t>(lengths.size()),
              "Expected a row of 'targets' for each sequence");
  for (size_t i = 0; i < lengths.size(); ++i) {
    TORCH_CHECK(lengths[i] <= targets.size(1),
                "Expected 'target_lengths' to be at most the length of 'targets'");
    Operands::indices(targets[static_cast<int64_t>(i)].narrow(0, 0, lengths[i]), "targets", 0, labels);
  }
}

void ctc_lengths(const Operands& in, std::string_view name, const Sizes& lengths, int64_t most) {
  const auto batch = static_cast<size_t>(in.tensor("log_probs").size(1));
  TORCH_CHECK(lengths.size() == batch, "Expected ", batch, " values for argument '", name, "'");
  for (const int64_t one : lengths)
    TORCH_CHECK(one >= 0 && one <= most, "Expected values from 0 to ", most, " for argument '", name,
                "', but got ", one);
}

/// Checks the operands and returns the longest target.
int64_t ctc_operands(const Operands& in) {
  in.dimensions("log_probs", 3, 3);
  const auto& probs = in.tensor("log_probs");
  const auto inputs = numbers(in, "input_lengths"), targets = numbers(in, "target_lengths");
  ctc_lengths(in, "input_lengths", inputs, probs.size(0));
  ctc_lengths(in, "target_lengths", targets, in.tensor("targets").numel());
  ctc_targets(in, targets, probs.size(2));
  const int64_t blank = in.integer("blank");
  TORCH_CHECK(blank >= 0 && blank < probs.size(2), "Expected argument 'blank' to be a label");
  return targets.empty() ? 0 : *std::max_element(targets.begin(), targets.end());
}

void ctc_loss(const Operands& in) { ctc_operands(in); }

void ctc_loss_backward(const Operands& in) {
  const int64_t longest = ctc_operands(in);
  const auto sizes = in.tensor("log_probs").sizes();
  in.dimensions("log_alpha", 3, 3);
  in.sizes("log_alpha", {sizes[1], sizes[0], 2 * longest + 1});
  for (const auto* name : {"grad", "neg_log_likelihood"}) in.sizes(name, {sizes[1]});
  for (const auto* name : {"grad", "neg_log_likelihood", "log_alpha"}) in.same_type(name, "log_probs");
}

// Sparse matrices, factored matrices, segments.

void coo_to_csr(const Operands& in) {
  in.dimensions("self", 1, 1);
  in.contiguous("self");
  in.indices("self", 0, in.integer("size"));
}

void csr_to_coo(const Operands& in) {
  const auto &rows = in.tensor("crow_indices"), &columns = in.tensor("col_indices");
  TORCH_CHECK(
      rows.dim() == columns.dim() && rows.dim() > 0 && rows.size(-1) > 0 &&
          rows.sizes().slice(0, rows.sizes().size() - 1) == columns.sizes().slice(0, rows.sizes().size() - 1),
      "Expected 'crow_indices' and 'col_indices' of the same batch, but they have size ", rows.sizes(),
      " and ", columns.sizes());
  in.indices("crow_indices", 0, columns.size(-1) + 1);
  ascending(in, "crow_indices");
}

void lu_unpack(const Operands& in) {
  const auto &data = in.tensor("LU_data"), &pivots = in.tensor("LU_pivots");
  if (!in.boolean("unpack_pivots")) return;
  TORCH_CHECK(data.dim() >= 2 && pivots.dim() == data.dim() - 1,
              "Expected a vector of 'LU_pivots' for each matrix");
  Sizes wanted(data.sizes().begin(), data.sizes().end() - 2);
  wanted.push_back(std::min(data.size(-1), data.size(-2)));
  in.sizes("LU_pivots", wanted);
  in.indices("LU_pivots", 1, data.size(-2) + 1);
}

/// Returns whether the pivots are valid: two negative ones are those of a block of two rows.
bool is_walk(const int* pivots, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!pivots[i] || std::abs(int64_t{pivots[i]}) > count) return false;
  for (int64_t i = 0; i < count; i += pivots[i] > 0 ? 1 : 2)
    if (pivots[i] < 0 && (i + 1 == count || pivots[i + 1] > 0)) return false;
  return true;
}

void ldl_solve(const Operands& in) {
  const auto& pivots = in.tensor("pivots");
  const auto& factors = in.tensor("LD");
  if (pivots.scalar_type() != at::kInt || factors.dim() < 2) return;  // PyTorch reports it
  in.sizes("pivots", factors.sizes().slice(0, factors.sizes().size() - 1));
  const Tensor own = pivots.contiguous().resolve_neg();
  const int64_t count = factors.size(-2);
  for (int64_t i = 0; i < own.numel(); i += count)
    TORCH_CHECK(is_walk(own.const_data_ptr<int>() + i, count), "Argument 'pivots' does not hold pivots of ",
                count, " rows");
}

/// Returns the number of segments; axis must be that of the lengths or offsets.
int64_t segments(const Operands& in) {
  const auto& data = in.tensor("data");
  const bool by_length = in.optional("lengths").defined();
  TORCH_CHECK(by_length != in.optional("offsets").defined(), "Expected either 'lengths' or 'offsets'");
  const std::string_view name = by_length ? "lengths" : "offsets";
  const auto& given = in.tensor(name);
  const int64_t axis = in.integer("axis");
  TORCH_CHECK(axis >= 0 && axis < data.dim() && given.dim() == axis + 1,
              "Expected argument 'axis' to be the last dimension of '", name, "' and one of 'data'");
  const auto before = static_cast<size_t>(axis);
  TORCH_CHECK(given.sizes().slice(0, before) == data.sizes().slice(0, before), "Expected the sizes of '",
              name, "' and 'data' to be the same before 'axis'");
  in.indices(name, 0, data.size(axis) + 1);
  if (!by_length) ascending(in, name);
  if (by_length && given.numel()) Operands::indices(given.sum(-1), name, 0, data.size(axis) + 1);
  return by_length ? given.size(-1) : given.size(-1) - 1;
}

void segment_reduce(const Operands& in) {
  if (in.optional("lengths").defined() || in.optional("offsets").defined()) segments(in);
}

void segment_reduce_backward(const Operands& in) {
  auto wanted = in.tensor("data").sizes().vec();
  const int64_t count = segments(in);
  wanted[static_cast<size_t>(in.integer("axis"))] = count;
  for (const auto* name : {"grad", "output"}) in.sizes(name, wanted), in.same_type(name, "data");
}

constexpr NamedCheck kChecks[] = {
    {"max_pool2d_with_indices_backward", &pool_2d},
    {"max_pool3d_with_indices_backward", &pool_3d},
    {"adaptive_max_pool2d_backward", &pool_2d},
    {"adaptive_max_pool3d_backward", &pool_3d},
    {"fractional_max_pool2d_backward", &pool_2d},
    {"fractional_max_pool3d_backward", &pool_3d},
    {"embedding_dense_backward", &embedding_backward},
    {"_embedding_bag", &embedding_bag},
    {"_embedding_bag_forward_only", &embedding_bag},
    {"_embedding_bag_backward", &embedding_bag_backward<false>},
    {"_embedding_bag_dense_backward", &embedding_bag_backward<true>},
    {"_embedding_bag_per_sample_weights_backward", &embedding_bag_samples_backward},
    {"_ctc_loss", &ctc_loss},
    {"_ctc_loss_backward", &ctc_loss_backward},
    {"_convert_indices_from_coo_to_csr", &coo_to_csr},
    {"_convert_indices_from_csr_to_coo", &csr_to_coo},
    {"lu_unpack", &lu_unpack},
    {"linalg_ldl_solve", &ldl_solve},
    {"segment_reduce", &segment_reduce},
    {"_segment_reduce_backward", &segment_reduce_backward},
};

}  // namespace

std::span<const NamedCheck> index_checks() { return kChecks; }

}  // namespace jitc::operators

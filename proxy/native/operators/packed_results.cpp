#include "operators/packed_results.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <array>

namespace jitc::operators {
namespace {

using at::Tensor;

/// Found by giving all operators results with gaps and dimensions in another order (tests/operators).
constexpr std::array<std::string_view, 6> kNames{
    "aten::avg_pool3d.out", "aten::gelu.out", "aten::linalg_lu.out",
    "aten::lu_unpack.out",  "aten::tril.out", "aten::triu.out",
};

}  // namespace

bool takes_results_for_contiguous(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

PackedResults::PackedResults(const Operator& op, torch::jit::Stack& arguments) {
  if (!op.packs_results) return;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!op.written[i] || !arguments[i].isTensor()) continue;
    const Tensor given = arguments[i].toTensor();
    if (given.is_contiguous()) continue;
    const Tensor packed = at::empty_like(given, given.options(), at::MemoryFormat::Contiguous);
    given_and_packed_.emplace_back(given, packed);
    arguments[i] = packed;
  }
}

void PackedResults::put_back(torch::jit::Stack& results) const {
  for (const auto& [given, packed] : given_and_packed_) {
    if (given.sizes() != packed.sizes()) given.resize_(packed.sizes());  // as the kernel would have done
    given.copy_(packed);
    for (auto& one : results)
      if (one.isTensor() && one.toTensor().is_same(packed)) one = given;
  }
}

}  // namespace jitc::operators

// Limits on the resources of a kind that one program may have; see jitc/limits.h. No device ever sees more.
#include <set>

#include "jitc/generated_op_traits.h"
#include "jitc/limits.h"
#include "resources.h"

namespace jitc {

std::string ResourceTable::Excess::text() const {
  return "the program has " + std::to_string(most) + " " + what + " on this GPU, more are not served";
}

std::optional<ResourceTable::Excess> ResourceTable::excess(const ops::OpHeader& op) const {
  const auto check = [](const char* what, size_t have, size_t most) {
    return have < most ? std::nullopt : std::optional(Excess{what, most});
  };
  switch (ops::traits(static_cast<ops::OpId>(op.op)).limit) {
    case ops::Limit::none:
      return std::nullopt;
    case ops::Limit::streams:
      return check("streams", streams_.size(), limits::kStreams);
    case ops::Limit::events:
      return check("events", events_.size(), limits::kEvents);
    case ops::Limit::communicators:
      return check("communicators", communications_.size(), limits::kCommunicators);
    case ops::Limit::modules:
      return check("modules", modules_.modules(), limits::kModules);
    case ops::Limit::functions:
      return check("functions and variables", modules_.functions_and_variables(), limits::kFunctions);
    case ops::Limit::graphs:
      return check("graphs", graphs_.size() + executables_.size(), limits::kGraphs);
    case ops::Limit::blas_handles:
      return check("cuBLAS handles", blas_.size(), limits::kBlasHandles);
    case ops::Limit::dnn_plans:
      return check("cuDNN plans", dnn_plans_.size(), limits::kDnnPlans);
  }
  return std::nullopt;
}

/// Returns the bytes of the ops in all graphs; a content that several share counts once.
uint64_t ResourceTable::graph_bytes() const {
  std::set<const Resources::Content*> contents;
  for (const auto& [handle, one] : graphs_) contents.insert(one.ops.get());
  for (const auto& [handle, one] : executables_) contents.insert(one.ops.get());
  uint64_t bytes = 0;
  for (const Resources::Content* const one : contents) bytes += one->bytes;
  return bytes;
}

}  // namespace jitc

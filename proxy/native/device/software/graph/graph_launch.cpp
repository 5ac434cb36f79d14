// See graph_launch.h.
#include "graph_launch.h"

#include <cstring>
#include <string_view>

#include "device/common/operands.h"

namespace jitc::software {
namespace {
/// Scope in which the work of ops is collected.
class Collecting {
 public:
  Collecting(Issuer& issuer, std::vector<Issuer::Collected>& into) : issuer_(issuer) {
    issuer_.collect(&into);
  }
  ~Collecting() { issuer_.collect(nullptr); }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

 private:
  Issuer& issuer_;
};

std::vector<std::byte> records_of(const ops::OpHeader& launch, const Graph& graph) {
  std::vector<std::byte> all(graph.bytes());
  size_t at = 0;
  graph.for_each([&](const std::vector<std::byte>& record) {
    std::memcpy(all.data() + at, record.data(), record.size());
    auto& op = *reinterpret_cast<ops::OpHeader*>(all.data() + at);
    op.stream = launch.stream;
    op.sequence = launch.sequence;
    at += record.size();
  });
  all.resize(at);
  return all;
}

/// Names the graph's op in the error, except for an operator's own error.
OpError inside(const ops::OpHeader& op, const OpError& error) {
  if (error.cause == std::string_view("operator-error")) return error;
  return {error.status, error.cause, about(op, ops::find(op.op), error.message), error.sticky};
}
}  // namespace

GraphLaunch::GraphLaunch(const ops::OpHeader& launch, const Graph& graph, Stream& stream, Issuer& issuer,
                         const TaskRunner& runner, const Handlers& handlers)
    : stream_(stream), runner_(runner), records_(records_of(launch, graph)) {
  const Collecting collecting(issuer, work_);
  for (size_t at = 0; at < records_.size();) {
    const auto& op = *reinterpret_cast<const ops::OpHeader*>(records_.data() + at);
    at += op.size;
    const Handler* const handler = handlers.find(op);
    try {
      if (!handler) refuse(kNotSupported, "unknown-op", "the software device does not run kernels");
      (*handler)(op);
    } catch (const OpError& error) {
      throw inside(op, error);
    }
  }
}

void GraphLaunch::run() {
  for (const Issuer::Collected& one : work_) {
    if (!runner_.running()) throw Abandoned{};
    stream_.now_runs(*one.op);
    try {
      one.work();
    } catch (const OpError& error) {
      throw inside(*one.op, error);
    }
  }
}

}  // namespace jitc::software

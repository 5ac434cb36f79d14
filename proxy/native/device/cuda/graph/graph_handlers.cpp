// See graph_handlers.h.
#include "graph_handlers.h"

#include "device/common/operands.h"

namespace jitc::cuda {

void GraphHandlers::begin_capture(const ops::CaptureBegin& op) { captures_.begin(op.header); }

void GraphHandlers::end_capture(const ops::CaptureEnd& op) {
  const auto capture = captures_.take(op.header);
  issuer_.completed_synchronously(op.header);
  std::shared_ptr<Graph> graph = capture->end();
  if (graphs_.has_graph(op.graph)) refuse_handle("graph " + hex(op.graph) + " exists already");
  const uint64_t nodes = graph->nodes();
  graphs_.add(op.graph, std::move(graph));
  issuer_.answer(op.header, packed(nodes));
}

void GraphHandlers::destroy(const ops::GraphDestroy& op) {
  graphs_.destroy_graph(op.graph);
  issuer_.completed_synchronously(op.header);
}

void GraphHandlers::instantiate(const ops::GraphInstantiate& op) {
  auto& graph = graphs_.graph(op.graph);
  graphs_.require_free(op.executable);
  if (!graph.real) {
    auto real = rebuild_.make(*graph.content);
    graphs_.graph(op.graph).real = std::move(real);
  }
  graphs_.add(op.executable,
              std::make_shared<Executable>(issuer_.context(), *graphs_.graph(op.graph).real, op.flags),
              op.flags);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void GraphHandlers::destroy_executable(const ops::ExecutableDestroy& op) {
  graphs_.destroy_executable(op.executable);
  issuer_.completed_synchronously(op.header);
}

void GraphHandlers::launch(const ops::GraphLaunch& op) {
  Stream& stream = issuer_.stream_of(op.header);
  const auto executable = executable_of(op.executable);
  if (Capture* const capture = captures_.of(stream); capture && executable->communicates())
    capture->add_collectives();
  issuer_.check("cuGraphLaunch", issuer_.driver().cuGraphLaunch(executable->real(), stream.real()));
  issuer_.submitted(stream, op.header);
}

/// Returns the executable, recreated if it does not exist.
std::shared_ptr<Executable> GraphHandlers::executable_of(uint64_t handle) {
  auto& entry = graphs_.executable(handle);
  if (entry.real) return entry.real;
  if (entry.under_way) throw graph_in_itself();
  entry.under_way = true;
  const Resources::Captured content = entry.content;
  try {
    const auto graph = rebuild_.make(*content);
    entry.real = std::make_shared<Executable>(issuer_.context(), *graph, entry.flags);
  } catch (...) {
    entry.under_way = false;
    throw;
  }
  entry.under_way = false;
  return entry.real;
}

// -- life ----------------------------------------------------------------------------------------------

void GraphHandlers::let_communicating_go() {
  captures_.drop_communicating();
  graphs_.let_communicating_go();
}

void GraphHandlers::remember(const Resources& content) {
  graphs_.remember(content);
  std::vector<Resources::Capture> open;
  for (const Resources::Capture& one : content.captures)
    if (!captures_.begun_on(one.stream)) open.push_back(one);
  rebuild_.set_open(std::move(open));
}

void GraphHandlers::restore(const Resources& wanted) {
  graphs_.restore(wanted);
  rebuild_.set_open(wanted.captures);
}

}  // namespace jitc::cuda

// See graph_handlers.h.
#include "graph_handlers.h"

#include <memory>
#include <utility>

#include "device/common/operands.h"
#include "graph_launch.h"
#include "graph_rebuild.h"

namespace jitc::software {

void GraphHandlers::begin_capture(const ops::CaptureBegin& op) { captures_.begin(op.header); }

void GraphHandlers::end_capture(const ops::CaptureEnd& op) {
  const auto capture = captures_.take(op.header);
  issuer_.completed_synchronously(op.header);
  const GraphPointer graph = capture->end();
  graphs_.add(op.graph, graph);
  issuer_.answer(op.header, packed(graph->nodes()));
}

void GraphHandlers::destroy(const ops::GraphDestroy& op) {
  graphs_.destroy_graph(op.graph);
  issuer_.completed_synchronously(op.header);
}

void GraphHandlers::instantiate(const ops::GraphInstantiate& op) {
  const GraphPointer graph = graph_of(op.graph);
  check_instantiate_flags(op.flags);
  graphs_.add_executable(op.executable, graph);
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header);
}

void GraphHandlers::destroy_executable(const ops::ExecutableDestroy& op) {
  graphs_.destroy_executable(op.executable);
  issuer_.completed_synchronously(op.header);
}

void GraphHandlers::launch(const ops::GraphLaunch& op) {
  Stream& stream = issuer_.stream_of(op.header);
  GraphPointer graph = graph_of_executable(op.executable);
  if (Capture* const capture = captures_.of(op.header)) {
    capture->add(op.header.stream, std::move(graph));
    return issuer_.completed_synchronously(op.header);
  }
  const auto launch = std::make_shared<GraphLaunch>(op.header, *graph, stream, issuer_, runner_, handlers_);
  auto& latest = graphs_.executable(op.executable).latest;
  std::vector<After> after = streams_.legacy_order(stream);
  if (latest) after.push_back(*latest);
  issuer_.push(stream, {&op.header, [launch] { launch->run(); }, std::move(after), {}, {}});
  latest = stream.after_all();
}

// -- recreated -----------------------------------------------------------------------------------------

GraphPointer GraphHandlers::graph_of(uint64_t handle) {
  auto& entry = graphs_.graph(handle);
  if (!entry.real)
    entry.real = make_again(*entry.content, [this](uint64_t one) { return graph_of_executable(one); });
  return entry.real;
}

GraphPointer GraphHandlers::graph_of_executable(uint64_t handle) {
  auto& entry = graphs_.executable(handle);
  if (entry.real) return entry.real;
  if (entry.under_way) throw graph_in_itself();
  entry.under_way = true;
  try {
    entry.real = make_again(*entry.content, [this](uint64_t one) { return graph_of_executable(one); });
  } catch (...) {
    entry.under_way = false;
    throw;
  }
  entry.under_way = false;
  return entry.real;
}

void GraphHandlers::restore(const Resources& wanted) {
  graphs_.restore(wanted);
  Captures::List open;
  for (const auto& one : wanted.captures)
    open.push_back(resume(one, [this](uint64_t handle) { return graph_of_executable(handle); }));
  captures_.restore(std::move(open));
}

}  // namespace jitc::software

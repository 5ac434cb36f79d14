// Stream capture and graphs. A graph that is launched runs its nodes one after another, in an order that
// keeps every dependency: the order of recording.
#include <cstring>

#include "call.h"
#include "capture.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
using GraphPointer = std::shared_ptr<Graph>;

struct Executable {
  std::shared_ptr<const Graph> graph;
  MarkerPointer last;
};

std::map<uint64_t, GraphPointer>& graphs() {
  static auto* const all = new std::map<uint64_t, GraphPointer>;
  return *all;
}
std::map<uint64_t, Executable>& executables() {
  static auto* const all = new std::map<uint64_t, Executable>;
  return *all;
}

template <class Map, class Handle>
auto& found(Map& all, Handle handle) {
  const auto one = all.find(number_of(handle));
  if (one == all.end()) throw Failure{kInvalidValue};
  return one->second;
}

/// CUgraphNodeType from what the work was called.
int type_of(const char* what) {
  if (std::strncmp(what, "cuMemcpy", 8) == 0) return 1;
  if (std::strncmp(what, "cuMemset", 8) == 0) return 2;
  if (std::strcmp(what, "cuLaunchHostFunc") == 0) return 3;
  if (std::strcmp(what, "cuGraphLaunch") == 0) return 4;
  if (std::strncmp(what, "cuStreamW", 9) == 0) return 12;  // batch memory operation
  return 0;                                                // kernel
}

void run_nodes(const Graph& graph, uint64_t stream, uint64_t call) {
  for (const Node& node : graph.nodes) {
    log_run(node.what, stream, call);
    if (node.body) node.body();
  }
}

int launch(const char* name, CUgraphExec handle, CUstream stream_handle, bool runs) {
  return call(name, Needs::context,
              {Field::address("graph", handle), Field::address("stream", stream_handle)}, [&](Call& call) {
                const auto lock = locked();
                Executable& one = found(executables(), handle);
                Context& context = call.context();
                Stream& stream = context.stream(stream_handle);
                if (!runs) return;
                if (one.last && !one.last->reached && !stream.capture)  // never beside itself
                  context.submit_after(stream, name, one.last);
                const auto body = [graph = one.graph, number = stream.handle, id = current_call()] {
                  run_nodes(*graph, number, id);
                };
                const MarkerPointer marker = context.submit(stream, name, body);
                if (marker) one.last = marker;
              });
}

CUgraph begin(Stream& stream, int mode) {
  begin_capture(stream, mode);
  stream.capture->graph_handle = Driver::instance().new_handle();
  graphs()[stream.capture->graph_handle] = stream.capture->graph;
  return handle_of<CUgraph>(stream.capture->graph_handle);
}

struct Info {
  int* status;
  uint64_t* id;
  CUgraph* graph;
  const CUgraphNode** nodes;
  const void** edges;
  size_t* count;
};

/// The list of nodes stays good until the thread asks again.
void tell(const Info& out, Capture& capture, Stream& stream) {
  static thread_local std::vector<CUgraphNode> nodes;
  nodes.clear();
  for (const size_t node : capture.tails[stream.shared_from_this()])
    nodes.push_back(handle_of<CUgraphNode>(capture.graph->nodes[node].handle));
  if (out.id) *out.id = capture.id;
  if (out.graph) *out.graph = handle_of<CUgraph>(capture.graph_handle);
  if (out.nodes) *out.nodes = nodes.data();
  if (out.edges) *out.edges = nullptr;
  if (out.count) *out.count = nodes.size();
}

int status_of(Context& context, const Stream& stream) {
  if (stream.legacy) refuse_implicit_dependency(context, false);
  return !stream.capture ? kNone : stream.capture->invalid ? kInvalidated : kActive;
}

int capture_info(const char* name, CUstream handle, const Info& out) {
  return call(name, Needs::context, {Field::address("stream", handle)}, [&](Call& call) {
    const auto lock = locked();
    Stream& stream = call.context().stream(handle);
    *needed(out.status) = status_of(call.context(), stream);
    if (*out.status == kActive) tell(out, *stream.capture, stream);
  });
}
}  // namespace

void forget_graphs(const Context& context) {
  std::erase_if(executables(), [&](const auto& each) { return each.second.graph->context == &context; });
  std::erase_if(graphs(), [&](const auto& each) { return each.second->context == &context; });
}

int cuStreamBeginCapture_v2(CUstream handle, int mode) {
  return call("cuStreamBeginCapture_v2", Needs::context,
              {Field::address("stream", handle), Field::count("mode", static_cast<uint64_t>(mode))},
              [&](Call& call) {
                const auto lock = locked();
                begin(call.context().stream(handle), mode);
              });
}

int cuStreamEndCapture(CUstream handle, CUgraph* out) {
  return call("cuStreamEndCapture", Needs::context, {Field::address("stream", handle)}, [&](Call& call) {
    const auto lock = locked();
    *needed(out) = nullptr;
    Stream& stream = call.context().stream(handle);
    const std::shared_ptr<Capture> capture = stream.capture;
    if (!capture) throw Failure{kInvalidValue};
    try {
      capture->end(stream);
    } catch (const Failure&) {
      if (capture->over) graphs().erase(capture->graph_handle);
      throw;
    }
    *out = handle_of<CUgraph>(capture->graph_handle);
    call.note(Field::address("out", *out));
    call.note(Field::count("nodes", capture->graph->nodes.size()));
  });
}

int cuStreamIsCapturing(CUstream handle, int* status) {
  return capture_info("cuStreamIsCapturing", handle, {status, nullptr, nullptr, nullptr, nullptr, nullptr});
}
int cuStreamGetCaptureInfo_v2(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                              const CUgraphNode** nodes, size_t* count) {
  return capture_info("cuStreamGetCaptureInfo_v2", handle, {status, id, graph, nodes, nullptr, count});
}
int cuStreamGetCaptureInfo_v3(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                              const CUgraphNode** nodes, const void** edges, size_t* count) {
  return capture_info("cuStreamGetCaptureInfo_v3", handle, {status, id, graph, nodes, edges, count});
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  return call("cuThreadExchangeStreamCaptureMode", Needs::driver, {}, [&](Call&) {
    if (*needed(mode) < kGlobal || *mode > kRelaxed) throw Failure{kInvalidValue};
    std::swap(*mode, thread_capture_mode());
  });
}

static int retain(CUstream handle, void (*release)(void*), void* data) {
  return call("cuGraphRetainUserObject", Needs::context, {Field::address("stream", handle)}, [&](Call& call) {
    const auto lock = locked();
    const std::shared_ptr<Capture> capture = call.context().stream(handle).capture;
    if (!capture) throw Failure{kInvalidValue};
    capture->graph->kept.emplace_back(data, release);
  });
}

int cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return call("cuGraphInstantiateWithFlags", Needs::context,
              {Field::address("graph", graph), Field::count("flags", flags)}, [&](Call& call) {
                const auto lock = locked();
                const uint64_t handle = Driver::instance().new_handle();
                executables()[handle] = {std::make_shared<Graph>(*found(graphs(), graph)), nullptr};
                *needed(out) = handle_of<CUgraphExec>(handle);
                call.note(Field::address("out", *out));
              });
}

int cuGraphLaunch(CUgraphExec graph, CUstream stream) { return launch("cuGraphLaunch", graph, stream, true); }
int cuGraphUpload(CUgraphExec graph, CUstream stream) {
  return launch("cuGraphUpload", graph, stream, false);
}

int cuGraphDestroy(CUgraph graph) {
  return call("cuGraphDestroy", Needs::context, {Field::address("graph", graph)}, [&](Call&) {
    const auto lock = locked();
    found(graphs(), graph);
    graphs().erase(number_of(graph));
  });
}

int cuGraphExecDestroy(CUgraphExec graph) {
  return call("cuGraphExecDestroy", Needs::context, {Field::address("graph", graph)}, [&](Call&) {
    const auto lock = locked();
    found(executables(), graph);
    executables().erase(number_of(graph));
  });
}

int cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return call("cuGraphGetNodes", Needs::context, {Field::address("graph", handle)}, [&](Call&) {
    const auto lock = locked();
    const auto& all = found(graphs(), handle)->nodes;
    for (size_t each = 0; nodes && each < *needed(count); ++each)
      nodes[each] = each < all.size() ? handle_of<CUgraphNode>(all[each].handle) : nullptr;
    if (!nodes || *count > all.size()) *needed(count) = all.size();
  });
}

int cuGraphNodeGetType(CUgraphNode handle, int* type) {
  return call("cuGraphNodeGetType", Needs::context, {Field::address("node", handle)}, [&](Call&) {
    const auto lock = locked();
    for (const auto& [number, graph] : graphs())
      for (const Node& node : graph->nodes)
        if (node.handle == number_of(handle)) return void(*needed(type) = type_of(node.what));
    throw Failure{kInvalidValue};
  });
}

}  // namespace jitc::fakes

int jitc_fake_retain(void* stream, void (*release)(void*), void* data) {
  return jitc::fakes::retain(static_cast<jitc::fakes::CUstream>(stream), release, data);
}

// CUDA graphs: captured from a stream, made executable, launched. The worker keeps their nodes.
//
// Promise: a capture that became invalid here ends on the device too, and yields no graph.
#include <utility>

#include "api/common/handles.h"
#include "api/generated/generated_api.h"
#include "api/host/host_copy.h"
#include "api/stream/capture.h"
#include "jitc/generated_ops.h"
#include "jitc/packed_reader.h"
#include "session/message.h"

namespace jitc::api {
namespace {

struct Graph {
  Session* session = nullptr;
  uint64_t nodes = 0;
};
struct Executable {
  Session* session = nullptr;
  uint64_t nodes = 0, flags = 0;
};
/// cudaGraphExecUpdateResultInfo.
struct UpdateResult {
  int32_t result = 0;  // success
  uint64_t node = 0, from_node = 0;
};
using Graphs = HandleTable<Graph, Kind::graph>;
using Executables = HandleTable<Executable, Kind::executable>;
Graphs& graphs() {
  static auto& out = *new Graphs;
  return out;
}
Executables& executables() {
  static auto& out = *new Executables;
  return out;
}

constexpr int32_t kTopologyChanged = 2;
constexpr int32_t kRelaxed = 2;
constexpr uint64_t kFlags = 0xff;  // above it is CUDA 11's pointer to an error node

/// Ends the capture on the device. The graph's handle is valid only if this succeeds.
Status take_graph(const StreamRef& origin, uint64_t handle, uint64_t* nodes) {
  auto op = on_stream<ops::CaptureEnd>(origin.id);
  op.graph = handle;
  const session::Result result = origin.session->call(op);
  if (result.status) return from_result(result.status);
  return unpack(result.payload, nodes) ? kSuccess : kUnknown;
}

/// Makes the graph executable under that handle.
Status instantiate(const Executable& made, uint64_t executable, uint64_t graph) {
  ops::GraphInstantiate op;
  op.graph = graph;
  op.executable = executable;
  op.flags = made.flags;
  const Status status = from_result(made.session->call(op).status);
  Executable gone;
  if (status) executables().remove(executable, &gone);
  return status;
}

Status destroy_executable(Session& session, uint64_t executable) {
  ops::ExecutableDestroy op;
  op.executable = executable;
  return submitted(session, session.submit(op));
}

Status destroy(Session& session, uint64_t graph) {
  ops::GraphDestroy op;
  op.graph = graph;
  return submitted(session, session.submit(op));
}

}  // namespace

int32_t cudaThreadExchangeStreamCaptureMode(int32_t* mode) {
  thread_local int32_t current = 0;
  if (!mode || *mode < 0 || *mode > kRelaxed) return kInvalidValue;
  std::swap(current, *mode);
  return kSuccess;
}

int32_t cudaStreamBeginCapture(uint64_t stream, int32_t mode) {
  StreamRef ref;
  if (const Status status = find_stream(stream, &ref)) return status;
  if (mode < 0 || mode > kRelaxed) return kInvalidValue;
  if (!ref.id) return kStreamCaptureUnsupported;
  if (capture_of(ref).id) return kIllegalState;
  // Copies to the process in flight cannot be waited for later: the stream is being captured then.
  if (const Status status = wait_for_host_copies(0, 0)) return status;
  begin_capture(ref, mode, is_blocking(stream));
  auto op = on_stream<ops::CaptureBegin>(ref.id);
  op.mode = static_cast<uint32_t>(mode);
  if (ref.session->submit(op)) return kSuccess;
  end_capture(capture_of(ref).id);
  return not_submitted(*ref.session);
}

int32_t cudaStreamEndCapture(uint64_t stream, uint64_t* graph) {
  StreamRef ref;
  if (!graph) return kInvalidValue;
  *graph = 0;
  if (const Status status = find_stream(stream, &ref)) return status;
  const CaptureView view = capture_of(ref);
  if (!view.id) return kIllegalState;
  if (view.origin != ref.id) return invalidate_capture(view.id), kStreamCaptureUnmatched;
  if (view.mode != kRelaxed && !view.same_thread)
    return invalidate_capture(view.id), kStreamCaptureWrongThread;
  const uint64_t handle = graphs().add({ref.session, 0});
  uint64_t nodes = 0;
  Status status = take_graph(ref, handle, &nodes);
  end_capture(view.id);
  if (!status && view.invalid) {
    destroy(*ref.session, handle);
    status = kStreamCaptureInvalidated;
  }
  Graph gone;
  if (status) return graphs().remove(handle, &gone), view.invalid ? kStreamCaptureInvalidated : status;
  graphs().update(handle, [&](Graph& one) { one.nodes = nodes; });
  *graph = handle;
  return kSuccess;
}

int32_t cudaStreamIsCapturing(uint64_t stream, int32_t* status) {
  StreamRef ref;
  if (!status) return kInvalidValue;
  if (!is_known_stream(stream)) return kInvalidResourceHandle;
  *status = kNotCapturing;
  if (!has_session(current_device()) || find_stream(stream, &ref)) return kSuccess;
  const CaptureView view = capture_of(ref);
  *status = !view.id ? kNotCapturing : view.invalid ? kInvalidCapture : kCapturing;
  return kSuccess;
}

int32_t cudaStreamGetCaptureInfo_v2(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph,
                                    uint64_t* dependencies, size_t* count) {
  if (const Status bad = cudaStreamIsCapturing(stream, status)) return bad;
  if (*status == kNotCapturing) return kSuccess;
  StreamRef ref;
  if (const Status bad = find_stream(stream, &ref)) return bad;
  if (id) *id = capture_of(ref).id;
  if (graph || dependencies) {
    session::message_once("the graph that is being captured cannot be looked at or changed");
    return kNotSupported;
  }
  if (count) *count = 0;
  return kSuccess;
}
int32_t cudaStreamGetCaptureInfo(uint64_t stream, int32_t* status, uint64_t* id, uint64_t* graph,
                                 uint64_t* dependencies, uint64_t* edges, size_t* count) {
  return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies ? dependencies : edges, count);
}

int32_t cudaGraphInstantiate(uint64_t* executable, uint64_t graph, uint64_t flags) {
  Graph found;
  if (!executable) return kInvalidValue;
  if (!graphs().get(graph, &found)) return kInvalidValue;
  const Executable made{found.session, found.nodes, flags <= kFlags ? flags : 0};
  const uint64_t handle = executables().add(made);
  const Status status = instantiate(made, handle, graph);
  if (!status) *executable = handle;
  return status;
}

/// Replaces the old executable in the worker by one of the new graph.
int32_t cudaGraphExecUpdate(uint64_t executable, uint64_t graph, void* result) {
  Executable old;
  Graph found;
  if (!executables().get(executable, &old) || !graphs().get(graph, &found)) return kInvalidValue;
  const bool fits = old.session == found.session && old.nodes == found.nodes;
  if (result) *static_cast<UpdateResult*>(result) = {fits ? 0 : kTopologyChanged, 0, 0};
  if (!fits) return kGraphExecUpdateFailure;
  if (const Status status = destroy_executable(*old.session, executable)) return status;
  return instantiate(old, executable, graph);
}

int32_t cudaGraphLaunch(uint64_t executable, uint64_t stream) {
  Executable found;
  StreamRef ref;
  if (const Status status = resolve_stream(stream, &ref)) return status;
  if (!executables().get(executable, &found)) return kInvalidValue;
  // The default stream means the graph's own device.
  if (ref.session != found.session) {
    if (ref.id) return kInvalidResourceHandle;
    ref = {found.session, 0, device_of(found.session)};
  }
  auto op = on_stream<ops::GraphLaunch>(ref.id);
  op.executable = executable;
  return submitted(*ref.session, ref.session->submit(op));
}
int32_t cudaGraphUpload(uint64_t executable, uint64_t stream) {
  StreamRef ref;
  const Status status = resolve_stream(stream, &ref);
  return status ? status : executables().contains(executable) ? kSuccess : kInvalidValue;
}

int32_t cudaGraphDestroy(uint64_t graph) {
  Graph gone;
  return graphs().remove(graph, &gone) ? destroy(*gone.session, graph) : kInvalidValue;
}
int32_t cudaGraphExecDestroy(uint64_t executable) {
  Executable gone;
  if (!executables().remove(executable, &gone)) return kInvalidValue;
  return destroy_executable(*gone.session, executable);
}

int32_t cudaGraphGetNodes(uint64_t graph, uint64_t* nodes, size_t* count) {
  Graph found;
  if (!count) return kInvalidValue;
  if (!graphs().get(graph, &found)) return kInvalidValue;
  if (nodes) {
    session::message_once("cudaGraphGetNodes gives the number of nodes only (nodes: null)");
    return kNotSupported;
  }
  *count = found.nodes;
  return kSuccess;
}

}  // namespace jitc::api

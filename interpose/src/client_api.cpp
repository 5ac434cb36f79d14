// The C interface for client_shim and for programs without PyTorch (jitc/client_api.h).
//
// Promise: without a session nothing is asked of the service, except by jitc_device_kind.
#include "jitc/client_api.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>

#include "capture.h"
#include "jitc/generated_ops.h"
#include "memory.h"
#include "runtime/message.h"
#include "variables.h"

namespace jitc::front {
namespace {

/// Steps begun and boundaries made, per session, from 1.
struct Counters {
  std::mutex mutex;
  std::unordered_map<const Session*, std::pair<uint64_t, uint64_t>> by_session;
};
Counters& counters() {
  static auto& out = *new Counters;
  return out;
}
uint64_t next_step(const Session* session) {
  std::lock_guard lock(counters().mutex);
  return ++counters().by_session[session].first;
}
uint64_t next_boundary(const Session* session) {
  std::lock_guard lock(counters().mutex);
  return ++counters().by_session[session].second;
}

/// The program's blocks that lie in the session, or, without a list, everything that is allocated; and the
/// device variables, which are state like memory.
std::vector<ops::LiveBlock> live_blocks(Session& session, const jitc_live_block* blocks, size_t count) {
  std::vector<ops::LiveBlock> out;
  if (blocks) {
    for (size_t i = 0; i < count; ++i)
      if (Node::instance().owner(blocks[i].address) == &session)
        out.push_back({blocks[i].address, blocks[i].bytes, blocks[i].ordinal});
  } else {
    for (const Block& block : addresses_of(session).blocks())
      out.push_back({block.address, block.bytes, block.ordinal});
  }
  add_variables(session, &out);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.ordinal != b.ordinal ? a.ordinal < b.ordinal : a.address < b.address;
  });
  return out;
}

void make_boundary(Session& session, const jitc_live_block* blocks, size_t count) {
  const std::vector<ops::LiveBlock> live = live_blocks(session, blocks, count);
  ops::Boundary op;
  op.boundary = next_boundary(&session);
  op.count = live.size();
  if (!session.submit(op, std::as_bytes(std::span(live))) && !session.status())
    runtime::message_once("no boundary: " + std::to_string(live.size()) +
                          " live blocks are too many for one record; a fault from here on goes back further");
  addresses_of(session).boundary();
}

void begin_step(Session& session) {
  ops::StepBegin op;
  op.step = next_step(&session);
  session.submit(op);
}

/// A step that is being captured does not happen now.
bool is_captured(const Session& session) {
  if (!any_capture(session)) return false;
  runtime::message_once(
      "an optimizer step inside a CUDA graph is no boundary: call jitc_step_begin and jitc_step_end around "
      "the "
      "graph's launch, or keep the step outside the graph");
  return true;
}

/// The stream of an operator call: the default stream means that of the given device.
Status stream_on(int device, void* stream, StreamRef* out) {
  const auto handle = reinterpret_cast<uint64_t>(stream);
  if (handle > 2) return resolve_stream(handle, out);
  Status status = kSuccess;
  *out = {session_of(device, &status), 0, device};
  return status;
}

template <class Body>
int guarded(Body&& body) noexcept {
  try {
    if (forked()) return kInitializationError;
    return body();
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (...) {
    return kUnknown;
  }
}

std::span<const std::byte> bytes_of(const void* call, size_t size) {
  return {static_cast<const std::byte*>(call), size};
}

}  // namespace
}  // namespace jitc::front

using namespace jitc;
using namespace jitc::front;

extern "C" {

int jitc_device_kind(void) {
  int kind = 0;
  guarded([&] {
    const GpuInfo* gpu = visible_gpu(0);
    if (gpu) kind = gpu->device == "software" ? 1 : 2;
    return kSuccess;
  });
  return kind;
}

int jitc_serves_cudnn(int device) {
  bool served = false;
  guarded([&] {
    const GpuInfo* gpu = visible_gpu(device);
    served = gpu && gpu->runs_kernels() && gpu->cudnn;
    return kSuccess;
  });
  return served;
}

void jitc_step_begin(void) {
  guarded([] {
    for (Session* session : Node::instance().sessions())
      if (!is_captured(*session)) begin_step(*session);
    return kSuccess;
  });
}

void jitc_step_begin_live(const jitc_live_block* blocks, size_t count) {
  guarded([&] {
    for (Session* session : Node::instance().sessions()) {
      if (is_captured(*session)) continue;
      const std::vector<ops::LiveBlock> live = live_blocks(*session, blocks, count);
      ops::LiveSet op;
      op.count = live.size();
      session->submit(op, std::as_bytes(std::span(live)));
      begin_step(*session);
    }
    return kSuccess;
  });
}

void jitc_step_end(const jitc_live_block* blocks, size_t count) {
  guarded([&] {
    for (Session* session : Node::instance().sessions())
      if (!is_captured(*session)) make_boundary(*session, blocks, count);
    return kSuccess;
  });
}

void jitc_set_phase(int phase) {
  if (phase >= 0 && phase <= 2) Node::set_phase(static_cast<ops::Phase>(phase));
}

void jitc_set_phase_source(jitc_phase_source source) { Node::set_phase_source(source); }

int jitc_operator_call(int device, void* stream, const void* call, size_t size) {
  return guarded([&] {
    StreamRef ref;
    if (const Status status = stream_on(device, stream, &ref)) return status;
    return submitted(*ref.session,
                     ref.session->submit(on_stream<ops::OperatorCall>(ref.id), bytes_of(call, size)));
  });
}

int jitc_operator_query(int device, void* stream, const void* call, size_t size, jitc_reply* reply) {
  return guarded([&] {
    *reply = {nullptr, 0, static_cast<uint32_t>(kUnknown)};
    StreamRef ref;
    if (const Status status = stream_on(device, stream, &ref))
      return static_cast<int>(reply->status = status);
    const runtime::Result result =
        ref.session->call(on_stream<ops::OperatorQuery>(ref.id), bytes_of(call, size));
    reply->status = result.status;
    reply->size = result.payload.size();
    reply->data = static_cast<uint8_t*>(std::malloc(std::max<size_t>(reply->size, 1)));
    if (!reply->data) throw std::bad_alloc();
    if (reply->size) std::memcpy(reply->data, result.payload.data(), reply->size);
    return static_cast<int>(result.status);
  });
}

const char* jitc_last_message(void) { return runtime::last_message(); }

void jitc_reply_free(jitc_reply* reply) {
  std::free(reply->data);
  *reply = {};
}
}

// C interface for client_shim and for programs without PyTorch (jitc/client_api.h).
//
// Promise: without a session nothing here asks the service, except jitc_device_kind, jitc_device_count
// and jitc_serves_cudnn.
#include "jitc/client_api.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <span>
#include <vector>

#include "api/common/gpu_count.h"
#include "api/cublas/blas_handle.h"
#include "api/host/host_copy.h"
#include "api/kernel/launch.h"
#include "api/memory/memory.h"
#include "api/module/variables.h"
#include "api/process/pytorch.h"
#include "api/stream/capture.h"
#include "api/stream/order.h"
#include "jitc/generated_ops.h"
#include "jitc/gpu_questions.h"
#include "jitc/shared_steps.h"
#include "session/message.h"
#include "session/phase.h"
#include "session/steps.h"

namespace jitc::api {
namespace {

using session::Steps;

/// First number of rows of whole allocations, in the order of allocation: behind the blocks that a program
/// lists, before device variables.
constexpr uint64_t kWhole = uint64_t{1} << 61;

/// Live memory of a session: the listed blocks of followed memory, all other allocations as a whole, and the
/// device variables, which are state like memory.
class LiveBlocks {
 public:
  LiveBlocks(const jitc_live_block* blocks, size_t count) : blocks_(blocks), count_(count) {}
  /// Calls use with the live blocks. No thread can allocate or free until use has submitted them.
  template <class Use>
  void in(Session& session, Use&& use) const {
    addresses_of(session).with_blocks([&](const std::vector<Block>& allocated) {
      std::vector<ops::LiveBlock> live;
      for (const Block& block : allocated)
        if (!blocks_ || !block.followed) live.push_back({block.address, block.bytes, kWhole | block.ordinal});
      add_listed(session, &live);
      add_variables(session, &live);
      std::sort(live.begin(), live.end(), [](const auto& a, const auto& b) {
        return a.ordinal != b.ordinal ? a.ordinal < b.ordinal : a.address < b.address;
      });
      use(live);
    });
  }

 private:
  /// Adds listed blocks. live: the whole allocations, by address, which include the blocks inside them.
  void add_listed(const Session& session, std::vector<ops::LiveBlock>* live) const {
    if (!blocks_) return;
    const std::vector<ops::LiveBlock> whole = *live;
    const auto lies_in_whole = [&](uint64_t address) {
      const auto after = std::ranges::upper_bound(whole, address, {}, &ops::LiveBlock::address);
      return after != whole.begin() && address - std::prev(after)->address < std::prev(after)->bytes;
    };
    for (const jitc_live_block& block : std::span(blocks_, count_))
      if (Node::instance().owner(block.address) == &session && !lies_in_whole(block.address))
        live->push_back({block.address, block.bytes, block.ordinal});
  }

  const jitc_live_block* const blocks_;
  const size_t count_;
};

void make_boundary(Session& session, uint64_t number, const LiveBlocks& blocks) {
  blocks.in(session, [&](const std::vector<ops::LiveBlock>& live) {
    ops::Boundary op;
    op.boundary = number;
    op.count = live.size();
    if (!session.submit(op, std::as_bytes(std::span(live))) && !session.status())
      session::message_once(
          "no boundary: " + std::to_string(live.size()) +
          " live blocks are too many for one record; a fault from here on goes back further");
  });
  addresses_of(session).boundary(is_over(session));
}

void submit_live(Session& session, const LiveBlocks& blocks) {
  blocks.in(session, [&](const std::vector<ops::LiveBlock>& live) {
    ops::LiveSet op;
    op.count = live.size();
    session.submit(op, std::as_bytes(std::span(live)));
  });
}

void begin_step(Session& session, uint64_t number) {
  ops::StepBegin op;
  op.step = number;
  if (Steps::instance().is_other_thread()) op.header.flags = ops::kFlagOtherThread;
  session.submit(op);
}

/// Returns true, with a message, while a graph is captured: the step does not happen now.
bool is_captured(const Session* session) {
  if (!any_capture(*session)) return false;
  session::message_once(
      "an optimizer step inside a CUDA graph is no boundary: call jitc_step_begin and jitc_step_end around "
      "the "
      "graph's launch, or keep the step outside the graph");
  return true;
}

/// Counts a step and submits it to all sessions of the process, relevant or not: a session depends only on
/// data behind its newest boundary, and its journal does not grow while it is idle.
template <class Submit>
void count_step(uint64_t Steps::* count, Submit&& submit) {
  Steps& steps = Steps::instance();
  const std::lock_guard lock(steps.mutex);
  const std::vector<Session*> sessions = Node::instance().sessions();
  if (std::any_of(sessions.begin(), sessions.end(), is_captured)) return;
  steps.backward_passes = 0;
  const uint64_t number = ++(steps.*count);
  for (Session* session : sessions) submit(*session, number);
}

/// Returns the stream of an operator call; the default stream is that of the given device.
Status stream_on(int device, void* stream, StreamRef* out) {
  const auto handle = reinterpret_cast<uint64_t>(stream);
  if (!is_default_stream(handle)) return resolve_stream(handle, out);
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
    return kMemoryAllocation;
  } catch (...) {
    return kUnknown;
  }
}

std::span<const std::byte> bytes_of(const void* call, size_t size) {
  return {static_cast<const std::byte*>(call), size};
}

}  // namespace
}  // namespace jitc::api

using namespace jitc;
using namespace jitc::api;

extern "C" {

int jitc_device_kind(void) {
  int kind = 0;
  guarded([&] {
    const GpuInfo* gpu = visible_gpu(0);
    if (gpu) kind = gpu->runs_kernels ? 2 : 1;
    return kSuccess;
  });
  return kind;
}

int jitc_device_count(void) {
  int count = -1;
  guarded([&] {
    count = count_without_settling();
    return kSuccess;
  });
  return count;
}

int jitc_serves_cudnn(int device) {
  bool served = false;
  guarded([&] {
    const GpuInfo* gpu = visible_gpu(device);
    served = gpu && gpu->runs_kernels && gpu->cudnn;
    return kSuccess;
  });
  return served;
}

void jitc_expect_steps(void) { expect_steps(); }

void jitc_step_begin(void) {
  guarded([] {
    session::set_phase(ops::Phase::optimizer);
    count_step(&Steps::begun, begin_step);
    return kSuccess;
  });
}

void jitc_backward_begins(void) {
  constexpr uint32_t kMany = 1024;  // with gradients that are accumulated, and checkpoints inside a pass
  guarded([] {
    if (++Steps::instance().backward_passes == kMany)
      session::message_once(
          "1,024 backward passes without an optimizer step that is known here: a fault runs again all that "
          "came since the last one. Optimizers of torch.optim mark their steps by themselves; where a "
          "program changes its weights in another way, it calls jitc_step_begin and jitc_step_end "
          "(jitc/client_api.h)");
    return kSuccess;
  });
}

void jitc_step_begin_live(const jitc_live_block* blocks, size_t count) {
  guarded([&] {
    const LiveBlocks live(blocks, count);
    session::set_phase(ops::Phase::optimizer);
    count_step(&Steps::begun, [&](Session& session, uint64_t number) {
      submit_live(session, live);
      begin_step(session, number);
    });
    return kSuccess;
  });
}

void jitc_step_end(const jitc_live_block* blocks, size_t count) {
  guarded([&] {
    const LiveBlocks live(blocks, count);
    count_step(&Steps::passed,
               [&](Session& session, uint64_t number) { make_boundary(session, number, live); });
    session::set_phase(ops::Phase::forward);
    return kSuccess;
  });
}

void jitc_follow_memory(uint64_t address, size_t bytes, int followed) {
  guarded([&] {
    Session* const session = Node::instance().owner(address);
    if (session) addresses_of(*session).follow(address, bytes, followed != 0);
    return kSuccess;
  });
}

void jitc_set_workspace_listener(jitc_workspace_listener listener) { set_workspace_listener(listener); }

void jitc_set_phase(int phase) {
  if (phase >= 0 && phase <= 2) session::set_phase(static_cast<ops::Phase>(phase));
}

void jitc_set_phase_source(jitc_phase_source source) { session::set_phase_source(source); }

void jitc_set_element_type(jitc_element_type type) { set_element_type(type); }

int jitc_checks_order(void) {
  bool checked = false;
  guarded([&] {
    const GpuInfo* gpu = visible_gpu(0);
    checked = gpu && gpu->check_order;
    return kSuccess;
  });
  return checked;
}

void jitc_set_site_source(jitc_site_source source) { session::order_check::set_site_source(source); }

void jitc_note_wait(int device, void* stream) {
  guarded([&] {
    StreamRef ref;
    if (const Status status = stream_on(device, stream, &ref)) return status;
    return tell_waited(*ref.session, ref.id), kSuccess;
  });
}

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
    Status status = stream_on(device, stream, &ref);
    if (!status)
      status =
          refuse_in_capture(ref, "the process cannot wait for what an operator computes (nonzero, unique)");
    if (status) return static_cast<int>(reply->status = status);
    const session::Result result =
        ref.session->call(on_stream<ops::OperatorQuery>(ref.id), bytes_of(call, size));
    reply->status = result.status;
    reply->size = result.payload.size();
    reply->data = static_cast<uint8_t*>(std::malloc(std::max<size_t>(reply->size, 1)));
    if (!reply->data) throw std::bad_alloc();
    if (reply->size) std::memcpy(reply->data, result.payload.data(), reply->size);
    return static_cast<int>(result.status);
  });
}

void jitc_set_kernel_server(jitc_kernel_server serve) { set_kernel_server(serve); }

const char* jitc_last_message(void) { return session::last_message(); }

void jitc_reply_free(jitc_reply* reply) {
  std::free(reply->data);
  *reply = {};
}
}

// C functions over session::Node and session::Session, called by the tests through ctypes.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "session/environment.h"
#include "session/message.h"
#include "session/order_check.h"
#include "session/phase.h"
#include "session/service/node.h"

namespace {

using namespace jitc;
using session::Node;
using session::Session;

#define TEST_API extern "C" __attribute__((visibility("default")))

Session* session_of(void* pointer) { return static_cast<Session*>(pointer); }
std::span<const std::byte> bytes(const void* data, size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

template <class Op>
Op on_stream(uint64_t stream) {
  Op op;
  op.header.stream = stream;
  return op;
}

using Heard = void (*)(uint64_t tag, uint32_t status, const void* data, size_t size);
struct Listener {
  Heard heard;
  uint64_t tag;
};
void receive(void* context, uint32_t status, std::span<const std::byte> payload) {
  auto* listener = static_cast<Listener*>(context);
  listener->heard(listener->tag, status, payload.data(), payload.size());
  delete listener;
}

double nanoseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_API int rt_gpus() { return static_cast<int>(Node::instance().gpus().size()); }
TEST_API const char* rt_gpu(int at) {
  static std::string text;
  const auto& gpu = Node::instance().gpus()[static_cast<size_t>(at)];
  text = std::to_string(gpu.index) + "|" + gpu.device + "|" + gpu.name + "|" + gpu.uuid + "|" +
         std::to_string(gpu.memory_total) + "|" + std::to_string(gpu.capability_major) + "|" +
         std::to_string(gpu.capability_minor) + "|" + std::to_string(gpu.multiprocessors) + "|" +
         std::to_string(gpu.cudnn) + "|";
  for (const auto& [attribute, value] : gpu.attributes)
    text += std::to_string(attribute) + "=" + std::to_string(value) + ",";
  return text.c_str();
}
TEST_API void* rt_session(uint32_t gpu, int create, uint32_t* error) {
  return Node::instance().session(gpu, create != 0, error);
}
TEST_API int rt_session_count() { return static_cast<int>(Node::instance().sessions().size()); }
TEST_API void* rt_owner(uint64_t address) { return Node::instance().owner(address); }
TEST_API int rt_forked() { return Node::instance().forked(); }
TEST_API void rt_set_phase_source(int (*source)()) { session::set_phase_source(source); }
TEST_API void rt_set_phase(uint32_t phase) { session::set_phase(static_cast<ops::Phase>(phase)); }
TEST_API void rt_set_site_source(const char* (*source)()) { session::order_check::set_site_source(source); }
TEST_API void rt_found_done(void* handle, uint64_t stream, uint64_t sequence) {
  session::order_check::found_done({session_of(handle), stream, sequence});
}
TEST_API uint64_t rt_boundary(void* handle) { return session_of(handle)->submit(ops::Boundary{}); }
TEST_API const char* rt_service_socket(const char* system) {
  static std::string socket;
  socket = session::service_socket(system);
  return socket.c_str();
}
TEST_API const char* rt_last_message() { return session::last_message(); }

TEST_API uint64_t rt_submit(void* handle, uint64_t stream, const void* data, size_t size) {
  auto op = on_stream<ops::CopyH2d>(stream);
  op.bytes = size;
  return session_of(handle)->submit(op, bytes(data, size));
}
TEST_API uint64_t rt_receive(void* handle, uint64_t stream, uint64_t tag, Heard heard) {
  auto op = on_stream<ops::CopyD2h>(stream);
  op.address = tag;
  auto* listener = new Listener{heard, tag};
  const uint64_t sequence = session_of(handle)->submit_receiving(op, receive, listener);
  if (sequence == 0) delete listener;
  return sequence;
}
TEST_API uint32_t rt_call(void* handle, uint64_t stream, const void* data, size_t size, void* out,
                          size_t capacity, size_t* got) {
  const session::Result result =
      session_of(handle)->call(on_stream<ops::OperatorQuery>(stream), bytes(data, size));
  *got = result.payload.size();
  if (!result.payload.empty())
    std::memcpy(out, result.payload.data(), std::min(capacity, result.payload.size()));
  return result.status;
}
TEST_API uint32_t rt_synchronize(void* handle, uint64_t stream) {
  return session_of(handle)->call(on_stream<ops::StreamSynchronize>(stream)).status;
}
TEST_API uint32_t rt_device_synchronize(void* handle) {
  return session_of(handle)->call(on_stream<ops::DeviceSynchronize>(0)).status;
}
TEST_API uint64_t rt_record(void* handle, uint64_t stream, uint64_t event) {
  auto op = on_stream<ops::EventRecord>(stream);
  op.event = event;
  return session_of(handle)->submit(op);
}
TEST_API uint64_t rt_wait(void* handle, uint64_t stream, uint64_t event) {
  auto op = on_stream<ops::EventWait>(stream);
  op.event = event;
  return session_of(handle)->submit(op);
}
TEST_API uint32_t rt_synchronize_event(void* handle, uint64_t event) {
  ops::EventSynchronize op;
  op.event = event;
  return session_of(handle)->call(op).status;
}
TEST_API int rt_executed(void* handle, uint64_t stream, uint64_t sequence) {
  return session_of(handle)->executed(stream, sequence);
}
TEST_API int rt_executed_by_now(void* handle, uint64_t stream, uint64_t sequence) {
  return session_of(handle)->find_executed(stream, sequence, Session::Wait::no);
}
TEST_API int rt_wait_executed(void* handle, uint64_t stream, uint64_t sequence) {
  return session_of(handle)->find_executed(stream, sequence, Session::Wait::yes);
}
TEST_API int rt_wait_all_executed(void* handle) { return session_of(handle)->find_all_executed(); }
TEST_API int rt_acknowledged(void* handle, uint64_t sequence, int wait) {
  return session_of(handle)->acknowledged(sequence, wait ? Session::Wait::yes : Session::Wait::no);
}
TEST_API uint64_t rt_last(void* handle, uint64_t stream) {
  return session_of(handle)->last_submitted(stream);
}
TEST_API uint32_t rt_status(void* handle) { return session_of(handle)->status(); }
TEST_API uint64_t rt_base(void* handle) { return session_of(handle)->address_base(); }
TEST_API uint64_t rt_bytes(void* handle) { return session_of(handle)->address_bytes(); }

/// Nanoseconds of each of count submits (or calls), into out.
TEST_API void rt_time_submits(void* handle, uint64_t stream, size_t size, size_t count, double* out) {
  const std::string payload(size, 'x');
  for (size_t i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    rt_submit(handle, stream, payload.data(), payload.size());
    out[i] = nanoseconds_since(start);
  }
}
TEST_API void rt_time_calls(void* handle, uint64_t stream, size_t count, double* out) {
  for (size_t i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    rt_synchronize(handle, stream);
    out[i] = nanoseconds_since(start);
  }
}

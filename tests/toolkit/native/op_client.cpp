// See op_client.h.
#include "op_client.h"

namespace jitc::test {

void OpClient::stream(uint64_t handle, uint32_t flags, int32_t priority) {
  ops::StreamCreate op;
  op.handle = handle;
  op.flags = flags;
  op.priority = priority;
  give(op);
}

void OpClient::event(uint64_t handle, uint64_t flags) {
  ops::EventCreate op;
  op.handle = handle;
  op.flags = flags;
  give(op);
}

uint64_t OpClient::record(uint64_t event, uint64_t stream) {
  ops::EventRecord op;
  op.event = event;
  return give(op, stream);
}

uint64_t OpClient::wait(uint64_t event, uint64_t stream) {
  ops::EventWait op;
  op.event = event;
  return give(op, stream);
}

uint64_t OpClient::fill(uint64_t address, uint64_t bytes, uint32_t value, uint64_t stream, uint32_t width) {
  ops::Fill op;
  op.address = address;
  op.bytes = bytes;
  op.value = value;
  op.width = width;
  return give(op, stream);
}

uint64_t OpClient::copy(uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream) {
  ops::CopyD2d op;
  op.destination = to;
  op.source = from;
  op.bytes = bytes;
  return give(op, stream);
}

uint64_t OpClient::put(uint64_t address, const std::vector<uint8_t>& bytes, uint64_t stream) {
  ops::CopyH2d op;
  op.address = address;
  op.bytes = bytes.size();
  return give(op, stream, bytes.data(), bytes.size());
}

uint64_t OpClient::get(uint64_t address, uint64_t bytes, uint64_t stream) {
  ops::CopyD2h op;
  op.address = address;
  op.bytes = bytes;
  return give(op, stream);
}

uint64_t OpClient::release(uint64_t address) {
  ops::Free op;
  op.address = address;
  return give(op);
}

uint32_t OpClient::try_allocate(uint64_t address, uint64_t bytes) {
  ops::Allocate op;
  op.address = address;
  op.bytes = bytes;
  return ask(op).status;
}

void OpClient::destroy_stream(uint64_t handle) {
  ops::StreamDestroy op;
  op.handle = handle;
  give(op);
}

void OpClient::destroy_event(uint64_t handle) {
  ops::EventDestroy op;
  op.handle = handle;
  give(op);
}

Reply OpClient::synchronize_event(uint64_t event) {
  ops::EventSynchronize op;
  op.event = event;
  return ask(op);
}

Reply OpClient::elapsed(uint64_t start, uint64_t end) {
  ops::EventElapsed op;
  op.start = start;
  op.end = end;
  return ask(op);
}

uint32_t OpClient::hold(uint64_t handle, uint64_t bytes) {
  ops::MemoryHold op;
  op.handle = handle;
  op.bytes = bytes;
  return ask(op).status;
}

uint64_t OpClient::map(uint64_t handle, uint64_t address) {
  ops::MemoryMap op;
  op.handle = handle;
  op.address = address;
  return give(op);
}

uint64_t OpClient::drop(uint64_t handle) {
  ops::MemoryDrop op;
  op.handle = handle;
  return give(op);
}

Reply OpClient::end_capture(uint64_t graph, uint64_t stream) {
  ops::CaptureEnd op;
  op.graph = graph;
  return ask(op, stream);
}

Reply OpClient::instantiate(uint64_t graph, uint64_t executable, uint64_t flags) {
  ops::GraphInstantiate op;
  op.graph = graph;
  op.executable = executable;
  op.flags = flags;
  return ask(op);
}

uint64_t OpClient::launch_graph(uint64_t executable, uint64_t stream) {
  ops::GraphLaunch op;
  op.executable = executable;
  return give(op, stream);
}

void OpClient::destroy_graph(uint64_t graph) {
  ops::GraphDestroy op;
  op.graph = graph;
  give(op);
}

void OpClient::destroy_executable(uint64_t executable) {
  ops::ExecutableDestroy op;
  op.executable = executable;
  give(op);
}

void OpClient::restore(const Resources& wanted) {
  std::string error;
  backend->fence();
  if (!backend->restore(wanted, error)) throw Failure{error};
  backend->unfence();
}

std::string OpClient::refused_restore(const Resources& wanted) {
  std::string error;
  backend->fence();
  CHECK(!backend->restore(wanted, error));
  CHECK(!error.empty());
  return error;
}

Resources::Captured OpClient::content(uint64_t first) {
  auto content = std::make_shared<Resources::Content>();
  for (uint64_t one = first; one <= sequence(); ++one) content->ops.push_back(record_of(one));
  return content;
}

}  // namespace jitc::test

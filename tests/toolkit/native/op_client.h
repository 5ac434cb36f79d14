// A client with a function for each of the ops that tests of any device give all the time.
#pragma once
#include "client.h"

namespace jitc::test {

class OpClient : public Client {
 public:
  using Client::Client;
  static constexpr uint64_t kCaptured = 0x1001, kForked = 0x1002;  // streams

  void stream(uint64_t handle, uint32_t flags = 1, int32_t priority = 0);
  void event(uint64_t handle, uint64_t flags = 0);
  uint64_t record(uint64_t event, uint64_t stream);
  uint64_t wait(uint64_t event, uint64_t stream);
  uint64_t fill(uint64_t address, uint64_t bytes, uint32_t value, uint64_t stream = 0, uint32_t width = 1);
  uint64_t copy(uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream = 0);
  uint64_t put(uint64_t address, const std::vector<uint8_t>& bytes, uint64_t stream = 0);
  uint64_t get(uint64_t address, uint64_t bytes, uint64_t stream = 0);
  uint64_t release(uint64_t address);
  uint32_t try_allocate(uint64_t address, uint64_t bytes);
  uint8_t byte(uint64_t address) { return download<uint8_t>(address, 1)[0]; }
  uint64_t free_memory() { return ask(ops::MemoryInfo{}).value<uint64_t>(); }
  void destroy_stream(uint64_t handle);
  void destroy_event(uint64_t handle);
  Reply synchronize_event(uint64_t event);
  Reply elapsed(uint64_t start, uint64_t end);

  /// Memory that is held first and mapped later.
  uint32_t hold(uint64_t handle, uint64_t bytes);
  uint64_t map(uint64_t handle, uint64_t address);
  uint64_t drop(uint64_t handle);

  void begin_capture(uint64_t stream = kCaptured) { give(ops::CaptureBegin{}, stream); }
  Reply end_capture(uint64_t graph, uint64_t stream = kCaptured);
  Reply instantiate(uint64_t graph, uint64_t executable, uint64_t flags = 0);
  uint64_t launch_graph(uint64_t executable, uint64_t stream = kCaptured);
  void destroy_graph(uint64_t graph);
  void destroy_executable(uint64_t executable);
  /// The ops from `first` on, as the core keeps what a graph consists of.
  Resources::Captured content(uint64_t first);

  /// Fences the device, and takes it back to that; throws Failure when it refuses. It goes on.
  void restore(const Resources& wanted);
  /// The same of what it must refuse: why. It stays fenced.
  std::string refused_restore(const Resources& wanted);
  /// The fault comes at the op that is given next, which is like this one. Why it cannot, or nothing.
  template <class Op>
  std::string inject(const char* kind, Op op, uint64_t stream = 0, std::span<const std::byte> payload = {}) {
    op.header = {static_cast<uint32_t>(sizeof op + payload.size()), static_cast<uint16_t>(Op::kId), 0, stream,
                 sequence() + 1};
    std::vector<std::byte> record(sizeof op + payload.size());
    std::memcpy(record.data(), &op, sizeof op);
    if (!payload.empty()) std::memcpy(record.data() + sizeof op, payload.data(), payload.size());
    std::string error;
    const auto& header = *reinterpret_cast<const ops::OpHeader*>(record.data());
    return backend->faults()->inject(kind, header, error) ? "" : error;
  }
  /// A fresh sequence of ops, as after a roll-back to before op `sequence + 1`.
  void go_back_to(uint64_t sequence) { sequence_ = sequence; }
  uint64_t sequence() const { return sequence_; }
};

}  // namespace jitc::test

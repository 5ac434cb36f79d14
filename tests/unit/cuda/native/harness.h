// Test toolkit for the cuda device on the fake driver (tests/fakes): sessions, gates, failures on request.
#pragma once
#include <string>

#include "client.h"

namespace jitc::test {

struct Options {
  uint64_t slot = 0, limit = 0;
  double hang_seconds = 0;
  std::string driver = JITC_TEST_DRIVER, cublas, cublaslt, cudnn, nccl = JITC_TEST_NCCL,
              nvrtc = JITC_TEST_NVRTC;
  PinnedRange pinned{};
  Rendezvous* rendezvous = nullptr;  // none: no communicators of several ranks
  std::shared_ptr<MemoryBudget> budget{};
};

std::unique_ptr<Backend> make_device(const Options& options, ExecutionSink& sink, std::string& error);

class Session : public Client {
 public:
  explicit Session(const Options& options = {});
  ~Session() { backend.reset(); }

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
  /// A fresh sequence of ops, as after a roll-back to before op `sequence + 1`.
  void go_back_to(uint64_t sequence) { sequence_ = sequence; }
  uint64_t sequence() const { return sequence_; }
};

/// Holds the legacy default stream (and what waits for it) from its making on, until it is opened.
class StreamGate {
 public:
  StreamGate();
  ~StreamGate() { open(); }
  void open();

 private:
  Gate gate_;
};

/// Failures that the fake driver is asked for from now on, such as "cuMemCreate:1=2" (tests/fakes/README.md).
/// Before the first session of the process.
void prepare_failures();
void ask_for_failures(const std::string& rules);

/// Runs body in a child process; returns its exit status, and what it wrote to stderr.
int run_child(const std::function<void()>& body, std::string& written);

}  // namespace jitc::test

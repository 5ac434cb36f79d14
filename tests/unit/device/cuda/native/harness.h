// Test toolkit for the cuda device on the fake driver (tests/fakes): sessions, gates, failures on request.
#pragma once
#include <string>

#include "device/services.h"
#include "op_client.h"

namespace jitc::test {

struct Options {
  uint64_t slot = 0, limit = 0;
  double hang_seconds = 0;
  std::string driver = JITC_TEST_DRIVER, cublas, cublaslt, cudnn, nccl = JITC_TEST_NCCL,
              nvrtc = JITC_TEST_NVRTC;
  PinnedRange pinned{};
  CommunicatorSegments* segments = nullptr;  // none: no communicators of several ranks
  std::shared_ptr<MemoryBudget> budget{};
};

/// Of one rank of several, on a host of its own as far as NCCL can tell: all use one GPU.
Options rank_options(CommunicatorSegments& segments, int rank, double hang_seconds = 0);

std::unique_ptr<Backend> make_device(const Options& options, ExecutionSink& sink, std::string& error);

class Session : public OpClient {
 public:
  explicit Session(const Options& options = {});
  ~Session() { backend.reset(); }
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

// Sessions of the device that is asked for with JITC_TEST_DEVICE: "software", or "cuda" on the fake driver.
#pragma once
#include "op_client.h"
#include "ranks.h"

namespace jitc::test {

struct Options {
  uint64_t slot = 0, limit = 0;
  PinnedRange pinned{};
  CommunicatorSegments* segments = nullptr;  // none: no communicators of several ranks
  std::shared_ptr<MemoryBudget> budget{};
};

class Session : public OpClient {
 public:
  explicit Session(const Options& options = {});
  ~Session() override { backend.reset(); }
};

/// A session of one rank, on a host of its own as far as NCCL can tell: all use one GPU.
class Rank : public Session {
 public:
  Rank(Segments& segments, int rank) : Session(options(segments, rank)) {}

 private:
  static Options options(Segments& segments, int rank);
};

/// Holds the session's default stream from its making on, until it is opened.
class StreamGate {
 public:
  explicit StreamGate(Session& session);
  ~StreamGate() { open(); }
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;
  void open() { gate_.open(); }

 private:
  Gate gate_;
};

}  // namespace jitc::test

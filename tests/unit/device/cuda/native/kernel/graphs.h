// A session for cases of captures and graphs, and what a rebuild is given of it.
#pragma once
#include "kernels.h"

namespace jitc::test {

inline constexpr uint64_t kModule = KernelSession::kModule, kAdd = KernelSession::kAdd;
inline constexpr uint64_t kStream = KernelSession::kStream, kSide = KernelSession::kSide;
inline constexpr uint64_t kFork = 0x2001, kJoin = 0x2002, kGraph = 0x5001, kExecutable = 0x6001;

/// A session with memory of zeros.
class GraphSession : public KernelSession {
 public:
  explicit GraphSession(const Options& options = {}) : KernelSession(options) {
    begin();
    a = allocate(4096);
    fill(a, 4096, 0, kStream);
    synchronize();
  }
  void fork_and_join() {
    event(kFork);
    event(kJoin);
    begin_capture();
    add(a, 1, 1, kStream);
    record(kFork, kStream);
    wait(kFork, kSide);
    add(a + 8, 10, 1, kSide);
    record(kJoin, kSide);
    wait(kJoin, kStream);
    copy(a + 16, a + 8, 8, kStream);
  }
  void run(int times, uint64_t executable = kExecutable) {
    for (int i = 0; i < times; ++i) launch_graph(executable);
    synchronize();
  }
  std::vector<int64_t> numbers(size_t count) { return download<int64_t>(a, count); }

  uint64_t a;
};

inline Resources resources_of(const GraphSession& s) {
  Resources resources;
  resources.allocations = {{s.a, 4096, 0}};
  resources.streams = {{kStream, 1, 0}, {kSide, 1, 0}};
  resources.modules = {{kModule, named("all"), images().size(named("all"))}};
  resources.functions = {{kAdd, kModule, "add_i64", {}}};
  return resources;
}

using Numbers = std::vector<int64_t>;

}  // namespace jitc::test

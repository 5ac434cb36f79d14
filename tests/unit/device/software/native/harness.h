// Test toolkit for the software device: its sessions.
#pragma once
#include <string>

#include "op_client.h"
#include "ranks.h"

namespace jitc::test {

struct Options {
  CommunicatorSegments* segments = nullptr;  // none: no communicators of several ranks
  uint64_t slot = 0, limit = 1u << 30;
  std::string operators{};
  double hang_seconds = 0;
  bool check_order = false;
  PinnedRange pinned{};
};

class Session : public OpClient {
 public:
  explicit Session(const Options& options = {});
  explicit Session(Segments& segments, uint64_t slot = 0) : Session({.segments = &segments, .slot = slot}) {}
  ~Session() override { backend.reset(); }
  uint64_t communicator(uint8_t id, int ranks, int rank, uint64_t handle = 0x500) {
    return join_communicator(*this, id, ranks, rank, handle);
  }
};

/// With the library of operators that stands in for PyTorch's (library/operators.cpp).
class OperatorSession : public Session {
 public:
  explicit OperatorSession(uint64_t slot = 0) : Session({.slot = slot, .operators = JITC_TEST_OPERATORS}) {}
  template <class Op>
  uint64_t call(uint8_t how, uint64_t address, uint64_t stream = 0) {
    const uint64_t operands[2] = {how, address};
    return give(Op{}, stream, operands, sizeof operands);
  }
};

}  // namespace jitc::test

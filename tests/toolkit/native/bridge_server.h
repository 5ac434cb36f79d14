// Bridges between the ranks of a test that are on different nodes, in a process of their own: ranks of a test
// may be processes themselves, or all in one.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/shared/board.h"

namespace jitc::test {

class BridgeServer {
 public:
  /// None without JITC_TEST_NODES, a number from 2 on. JITC_TEST_DEVICE says whose segments they are, the
  /// software device's without it.
  static std::unique_ptr<BridgeServer> of_environment(uint64_t segment_bytes);
  ~BridgeServer();
  BridgeServer(const BridgeServer&) = delete;
  BridgeServer& operator=(const BridgeServer&) = delete;

  size_t nodes() const { return boards_.size(); }
  /// A rank joins a communicator whose segments are at these paths, by node: it is linked with the first one.
  /// Returns the doorbell of its node's bridge.
  Doorbell* join(const std::vector<std::string>& paths, uint32_t ranks, uint32_t rank);

 private:
  static constexpr size_t kCommunicators = 256, kNodes = 4, kPath = 48;
  struct Entry {
    uint32_t ranks;
    char paths[kNodes][kPath];
  };
  struct Table {
    Doorbell doorbell;
    std::atomic<uint32_t> lock, count;
    Entry entries[kCommunicators];
  };
  BridgeServer(size_t nodes, uint64_t segment_bytes);
  void serve(const std::vector<std::string>& boards) const;

  const uint64_t segment_bytes_;
  std::vector<std::unique_ptr<Board>> boards_;
  Table* table_;
  pid_t maker_, server_;
};

}  // namespace jitc::test

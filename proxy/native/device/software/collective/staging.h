// Operands of collectives in host memory, while sessions take turns at their GPU: a rank that waits for
// others then leaves the GPU free for a rank that may need it to arrive (decision 67).
//
// Promise: runs see their operands unchanged, also if one lies inside the other. Called by: Group, between
// two advances, the first and the last time with the memory on the GPU.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "collective_run.h"

namespace jitc::software {

class Staging {
 public:
  /// Copies the operands of all runs; skips null ones. Throws std::bad_alloc.
  explicit Staging(std::span<Run* const> runs);
  /// Copies received data to its destination.
  void give_back() const;

 private:
  struct Moved {
    std::byte* receive;  // on the device
    uint64_t bytes;
    const std::byte* received;
  };
  std::byte* copy(const std::byte* from, uint64_t bytes);
  void move(Call& call);

  std::vector<std::vector<std::byte>> memory_;
  std::vector<Moved> moved_;
};

}  // namespace jitc::software

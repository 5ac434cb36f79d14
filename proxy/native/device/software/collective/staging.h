// Operands of collectives in memory of the host, while sessions take turns at their GPU: a rank that waits
// for others, one of which may need the GPU to come, does not need it then (decision 67).
//
// Promise: runs see their operands as they were, where one operand lies inside the other too. Called by:
// Group, between two advances, the first and the last time with the memory on the GPU.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "collective_run.h"

namespace jitc::software {

class Staging {
 public:
  /// Takes the operands of all runs along; those that are null are passed over. Throws std::bad_alloc.
  explicit Staging(std::span<Run* const> runs);
  /// What has been received goes to where it belongs.
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

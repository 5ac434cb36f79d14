// Content of a session's blocks while another session has the GPU (device/common/turns/residency.h).
//
// Promise: it counts against the node's memory for copies as long as it lives. Lock rule: that of Memory, its
// owner.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/shared/memory_budget.h"
#include "memory.h"

namespace jitc::software {

class Memory::MovedOut {
 public:
  explicit MovedOut(CopiesBudget* node) : node_(node) {}
  ~MovedOut();
  MovedOut(const MovedOut&) = delete;
  MovedOut& operator=(const MovedOut&) = delete;
  /// Takes so many bytes. False: not available.
  bool take(uint64_t bytes);
  std::byte* content() const { return content_; }

 private:
  CopiesBudget* const node_;
  std::byte* content_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace jitc::software

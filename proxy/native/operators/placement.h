// Makes a CPU kernel allocate its results where the call wants them, and no more than the GPU's memory.
//
// A kernel that makes a new tensor asks PyTorch's CPU allocator for memory. While a Placement is alive on a
// thread, the first request of exactly the size of a wanted output gets that output's memory, so the usual
// kernel writes straight into device memory and nothing is copied. A kernel that asks for something of the
// same size first (a temporary) only loses the benefit: run.cpp compares addresses and copies.
//
// What does not go to an output lies in the worker's own memory. A MemoryLimit bounds it, so that an operator
// with an absurd result is refused as a GPU would refuse it, before the host's memory is used up.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace jitc::operators {

struct Slot {
  void* address;
  size_t bytes;
  bool used;
};

class Placement {
 public:
  explicit Placement(std::vector<Slot>& slots);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
};

/// While it lives, this thread runs one operator, and an allocation with which it would hold more than the
/// limit throws c10::OutOfMemoryError. 0: no limit. It depends on nothing but the operator, so that a replay
/// ends as it did.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

/// Puts our allocator before PyTorch's own. Once per process, before the first call.
void install_placement_allocator();

}  // namespace jitc::operators

// Makes a CPU kernel allocate its results where the call wants them.
//
// A kernel that makes a new tensor asks PyTorch's CPU allocator for memory. While a Placement is alive on a
// thread, the first request of exactly the size of a wanted output gets that output's memory, so the usual
// kernel writes straight into device memory and nothing is copied. A kernel that asks for something of the
// same size first (a temporary) only loses the benefit: run.cpp compares addresses and copies.
#pragma once
#include <cstddef>
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

/// Puts our allocator before PyTorch's own. Once per process, before the first call.
void install_placement_allocator();

}  // namespace jitc::operators

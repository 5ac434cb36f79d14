// Lets a CPU kernel allocate its results in device memory, and no more than the GPU has.
//
// A kernel that makes a new tensor asks PyTorch's CPU allocator for memory. While a Placement is alive on a
// thread, the first request of exactly the size of a wanted output gets that output's memory, so the usual
// kernel writes straight into device memory and nothing is copied. A kernel that asks for something of the
// same size first (a temporary) only loses the benefit: run.cpp compares addresses and copies.
//
// Everything else that it allocates lies in the worker's own memory. A MemoryLimit bounds that, so that an
// operator with an absurd result is refused as on a GPU, before the host's memory is used up.
//
// Called by: run.cpp, library.cpp.
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

/// While it lives, this thread runs one operator; an allocation that exceeds the limit throws
/// c10::OutOfMemoryError. 0: no limit. The outcome depends on the operator alone, so that a replay has the
/// same.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

/// Installs the allocator in place of PyTorch's. Call it once per process, before the first operator call.
void install_placement_allocator();

}  // namespace jitc::operators

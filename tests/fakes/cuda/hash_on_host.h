// The kernels that the GPU hashes and poisons with (proxy/native/device/cuda/module/hash_kernel.cu), their
// very source, run by the CPU.
//
// Promises: blocks, warps and lanes one after the other, in this thread; shuffles give what a GPU's give.
// Used by the fake driver, and by the tests of the kernel.
#pragma once
#include <cstdint>

namespace jitc::fakes {

/// As the kernel has it; the address is one of the host.
struct HashRange {
  uint64_t address, bytes, first;
};

struct HashSum {
  uint64_t a, b;
};

struct HashShape {
  unsigned blocks, threads;
};

/// jitc_poison for one range, whose memory is at the place.
void poison_on_host(HashShape shape, const HashRange& range, uint64_t pieces, void* place);

void hash_on_host(HashShape shape, const HashRange* ranges, unsigned count, uint64_t pieces, HashSum* sums);

}  // namespace jitc::fakes

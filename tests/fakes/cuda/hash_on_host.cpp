// See hash_on_host.h.
#include "hash_on_host.h"

#include <array>
#include <vector>

#define __global__
#define __device__
#define __launch_bounds__(threads)

namespace {
struct Place {
  unsigned x;
};
thread_local Place threadIdx, blockIdx, blockDim, gridDim;

/// What each lane of the warp showed, shuffle by shuffle. A lane takes from later ones only, so these run
/// first; all lanes come by the same shuffles.
using Shown = std::array<std::vector<unsigned long long>, 32>;
thread_local Shown* shown;

unsigned long long __shfl_down_sync(unsigned, unsigned long long value, unsigned step) {
  const unsigned lane = threadIdx.x % 32;
  auto& own = (*shown)[lane];
  own.push_back(value);
  return lane + step < 32 ? (*shown)[lane + step].at(own.size() - 1) : value;
}

/// From the address of a range to where its memory is.
thread_local unsigned long long shift;
#define JITC_PLACE(address) reinterpret_cast<unsigned char*>((address) + shift)

void atomicAdd(unsigned long long* at, unsigned long long value) { *at += value; }
}  // namespace

#include "device/cuda/module/hash_kernel.cu"

namespace jitc::fakes {
namespace {
template <class Kernel>
void in_shape(HashShape shape, const Kernel& kernel) {
  Shown warp;
  shown = &warp;
  gridDim.x = shape.blocks;
  blockDim.x = shape.threads;
  for (blockIdx.x = 0; blockIdx.x < shape.blocks; ++blockIdx.x) {
    for (unsigned first = 0; first < shape.threads; first += 32) {
      for (auto& lane : warp) lane.clear();
      for (unsigned lane = 32; lane-- > 0;) {
        threadIdx.x = first + lane;
        kernel();
      }
    }
  }
  shown = nullptr;
}
}  // namespace

static_assert(sizeof(HashRange) == sizeof(Range) && sizeof(HashSum) == sizeof(Sum));

void hash_on_host(HashShape shape, const HashRange* ranges, unsigned count, uint64_t pieces, HashSum* sums) {
  in_shape(shape, [&] {
    jitc_hash(reinterpret_cast<const Range*>(ranges), count, pieces, reinterpret_cast<Sum*>(sums));
  });
}

void poison_on_host(HashShape shape, const HashRange& range, uint64_t pieces, void* place) {
  shift = reinterpret_cast<uint64_t>(place) - range.address;
  in_shape(shape, [&] { jitc_poison(reinterpret_cast<const Range*>(&range), 1, pieces); });
}

}  // namespace jitc::fakes

// The content hash on the GPU: the stripes of many ranges in one launch, in any order; and how ranges are poisoned.
//
// Compiled by NVRTC when a worker starts (kernel_build.h), launched by hasher.cpp, which the types here are
// shared with by their layout. The arithmetic is that of the host: base/content_arithmetic.h. It is bound by
// memory: of a whole stripe each lane of a warp reads eight times 16 bytes, next to those of its neighbours,
// and adds 32 products; then the warp adds up. Tests compile it for the host, too
// (tests/fakes/cuda/hash_on_host.h).
#include "content_arithmetic.h"

namespace {

using namespace jitc::content;

constexpr unsigned kLanes = 32;
constexpr unsigned kRows = kStripe / (kLanes * kUnit);
constexpr Long kPieceStripes = 32;  // what a warp does at a time; hasher.h has the same number
static_assert(kSecond == kLanes * kUnit / 8, "the second keys are those of the next row");

/// As HashRange in hasher.h.
struct Range {
  Long address, bytes;
  Long first;  // number of its first piece in this launch
};

struct alignas(16) Unit {
  Long low, high;
};

__device__ constexpr KeyTable kKeys = key_table();

/// The keys of the lane's places in a row; those of the row after it are the second ones.
__device__ const Unit& keys_of(unsigned row, unsigned lane) {
  return reinterpret_cast<const Unit*>(kKeys.at)[row * kLanes + lane];
}

__device__ void add_unit(Sum& sum, const Unit& unit, unsigned row, unsigned lane) {
  const Unit first = keys_of(row, lane), second = keys_of(row + 1, lane);
  add_pair(sum, unit.low, first.low, second.low);
  add_pair(sum, unit.high, first.high, second.high);
}

/// Anywhere, and never beyond the end of the range.
__device__ Unit careful_unit(const unsigned char* from, Long left) {
  if (left >= kUnit && reinterpret_cast<Long>(from) % kUnit == 0) return *reinterpret_cast<const Unit*>(from);
  Unit unit{0, 0};
  for (unsigned i = 0; i < kUnit && i < left; ++i)
    (i < 8 ? unit.low : unit.high) |= static_cast<Long>(from[i]) << i % 8 * 8;
  return unit;
}

/// The lane's part of a stripe's sum; left: bytes from the stripe's begin to the end of the range.
__device__ Sum part_of_stripe(const unsigned char* stripe, Long left, unsigned lane) {
  Sum sum{0, 0};
  if (left >= kStripe && reinterpret_cast<Long>(stripe) % kUnit == 0) {
    const Unit* const units = reinterpret_cast<const Unit*>(stripe) + lane;
#pragma unroll
    for (unsigned row = 0; row < kRows; ++row) add_unit(sum, units[row * kLanes], row, lane);
    return sum;
  }
#pragma unroll 1
  for (unsigned row = 0; row < kRows; ++row) {
    const unsigned at = (row * kLanes + lane) * kUnit;
    if (at < left) add_unit(sum, careful_unit(stripe + at, left - at), row, lane);
  }
  return sum;
}

/// Lane 0 gets the total.
__device__ Long warp_total(Long value) {
  for (unsigned step = kLanes / 2; step; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
  return value;
}

/// The range that has the piece: the last one that begins at it or before it.
__device__ unsigned range_of(const Range* ranges, unsigned count, Long piece) {
  unsigned low = 0;
  for (unsigned high = count; high - low > 1;) {
    const unsigned middle = low + (high - low) / 2;
    if (ranges[middle].first <= piece)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// Adds the stripes of a piece to what the range has; lane 0 does.
__device__ void add_piece(const Range& range, Long piece, unsigned lane, Sum* total) {
  Sum sum{0, 0};
  const Long from = (piece - range.first) * kPieceStripes;
  for (Long stripe = from; stripe < from + kPieceStripes && stripe * kStripe < range.bytes; ++stripe) {
    const unsigned char* const at = reinterpret_cast<const unsigned char*>(range.address + stripe * kStripe);
    const Sum part = part_of_stripe(at, range.bytes - stripe * kStripe, lane);
    const Long a = warp_total(part.a), b = warp_total(part.b);
    add_stripe(sum, Sum{a, b}, stripe);
  }
  if (lane) return;
  atomicAdd(&total->a, sum.a);
  atomicAdd(&total->b, sum.b);
}

// The fake driver's memory lies elsewhere than its addresses say.
#ifndef JITC_PLACE
#define JITC_PLACE(address) reinterpret_cast<unsigned char*>(address)
#endif

/// By aligned words; of those at the ends of the range only what is its own.
__device__ void poison_piece(const Range& range, Long piece, unsigned lane) {
  const Long begin = range.address + (piece - range.first) * kPieceStripes * kStripe;
  const Long last = range.address + range.bytes, full = begin + kPieceStripes * kStripe;
  const Long end = full < last ? full : last;
  for (Long word = (begin / 8 + lane) * 8; word < end; word += kLanes * 8) {
    if (word >= begin && word + 8 <= end) {
      *reinterpret_cast<Long*>(JITC_PLACE(word)) = poisoned_word(word);
      continue;
    }
    for (Long at = word; at < word + 8; ++at)
      if (at >= begin && at < end) *JITC_PLACE(at) = poisoned_byte(at);
  }
}

}  // namespace

/// pieces: of all ranges. totals: one for each range, zeros at first. Blocks of whole warps, any number of
/// them.
extern "C" __global__ void __launch_bounds__(256)
    jitc_hash(const Range* ranges, unsigned count, Long pieces, Sum* totals) {
  const unsigned lane = threadIdx.x % kLanes, warps = blockDim.x / kLanes;
  const Long all = static_cast<Long>(gridDim.x) * warps;
  for (Long piece = static_cast<Long>(blockIdx.x) * warps + threadIdx.x / kLanes; piece < pieces;
       piece += all) {
    const unsigned range = range_of(ranges, count, piece);
    add_piece(ranges[range], piece, lane, totals + range);
  }
}

/// The same for filling them with what poisoned memory holds.
extern "C" __global__ void __launch_bounds__(256)
    jitc_poison(const Range* ranges, unsigned count, Long pieces) {
  const unsigned warps = blockDim.x / kLanes;
  const Long all = static_cast<Long>(gridDim.x) * warps;
  for (Long piece = static_cast<Long>(blockIdx.x) * warps + threadIdx.x / kLanes; piece < pieces; piece += all)
    poison_piece(ranges[range_of(ranges, count, piece)], piece, threadIdx.x % kLanes);
}

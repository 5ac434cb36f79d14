// The arguments of cuTensorMapEncode* as the op tensor_map carries them.
//
// Included by the API layer (writes) and the cuda device (reads).
#pragma once
#include <cstddef>
#include <cstdint>

namespace jitc {

inline constexpr uint32_t kTensorMapRanks = 5;
inline constexpr size_t kTensorMapBytes = 128;  // of a CUtensorMap

enum class TensorMapKind : uint32_t { tiled = 0, im2col = 1 };

/// The op's field `sizes`; entries beyond the rank are 0.
struct TensorMapSizes {
  uint64_t dims[5], strides[4];
  uint64_t unused[7];
};
/// The op's field `boxes`; a tiled map has a box, an im2col map has corners.
struct TensorMapBoxes {
  uint32_t box[5], steps[5];
  int32_t lower[3], upper[3];
};
static_assert(sizeof(TensorMapSizes) == 128 && sizeof(TensorMapBoxes) == 64);

}  // namespace jitc

// See tensor_map.h.
#include "tensor_map.h"

#include <bit>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
abi::CUresult encode_tiled(const Driver& driver, const ops::TensorMap& op, TensorMapBytes& map) {
  const auto sizes = std::bit_cast<TensorMapSizes>(op.sizes);
  const auto boxes = std::bit_cast<TensorMapBoxes>(op.boxes);
  return driver.cuTensorMapEncodeTiled(&map, op.type, op.rank, reinterpret_cast<void*>(op.address),
                                       sizes.dims, sizes.strides, boxes.box, boxes.steps, op.interleave,
                                       op.swizzle, op.promotion, op.fill);
}

abi::CUresult encode_im2col(const Driver& driver, const ops::TensorMap& op, TensorMapBytes& map) {
  const auto sizes = std::bit_cast<TensorMapSizes>(op.sizes);
  const auto boxes = std::bit_cast<TensorMapBoxes>(op.boxes);
  return driver.cuTensorMapEncodeIm2col(
      &map, op.type, op.rank, reinterpret_cast<void*>(op.address), sizes.dims, sizes.strides, boxes.lower,
      boxes.upper, op.channels, op.pixels, boxes.steps, op.interleave, op.swizzle, op.promotion, op.fill);
}
}  // namespace

TensorMapBytes tensor_map(const Driver& driver, const ops::TensorMap& op) {
  const bool tiled = op.kind == static_cast<uint32_t>(TensorMapKind::tiled);
  if (!tiled && op.kind != static_cast<uint32_t>(TensorMapKind::im2col))
    refuse_value("there is no such kind of tensor map");
  if (!op.rank || op.rank > kTensorMapRanks) refuse_value("a tensor map has 1 to 5 dimensions");
  if (!(tiled ? driver.cuTensorMapEncodeTiled != nullptr : driver.cuTensorMapEncodeIm2col != nullptr))
    refuse(kNotSupported, "no-tensor-maps", "the CUDA driver has no tensor maps");
  TensorMapBytes map{};
  if (tiled)
    check(driver, "cuTensorMapEncodeTiled", encode_tiled(driver, op, map));
  else
    check(driver, "cuTensorMapEncodeIm2col", encode_im2col(driver, op, map));
  return map;
}

}  // namespace jitc::cuda

// Tensor maps: the driver encodes them on the host, from arguments alone. See device.h, jitc/tensor_map.h.
#include <bit>

#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"
#include "jitc/tensor_map.h"

namespace jitc::cuda {
namespace {
struct alignas(64) Map {
  std::byte bytes[kTensorMapBytes];
};

abi::CUresult encode_tiled(const Driver& driver, const ops::TensorMap& op, Map& map) {
  const auto sizes = std::bit_cast<TensorMapSizes>(op.sizes);
  const auto boxes = std::bit_cast<TensorMapBoxes>(op.boxes);
  return driver.cuTensorMapEncodeTiled(&map, op.type, op.rank, reinterpret_cast<void*>(op.address),
                                       sizes.dims, sizes.strides, boxes.box, boxes.steps, op.interleave,
                                       op.swizzle, op.promotion, op.fill);
}

abi::CUresult encode_im2col(const Driver& driver, const ops::TensorMap& op, Map& map) {
  const auto sizes = std::bit_cast<TensorMapSizes>(op.sizes);
  const auto boxes = std::bit_cast<TensorMapBoxes>(op.boxes);
  return driver.cuTensorMapEncodeIm2col(
      &map, op.type, op.rank, reinterpret_cast<void*>(op.address), sizes.dims, sizes.strides, boxes.lower,
      boxes.upper, op.channels, op.pixels, boxes.steps, op.interleave, op.swizzle, op.promotion, op.fill);
}
}  // namespace

void Device::place_tensor_map(const ops::OpHeader& op) {
  const auto& wanted = as<ops::TensorMap>(op);
  const bool tiled = wanted.kind == static_cast<uint32_t>(TensorMapKind::tiled);
  if (!tiled && wanted.kind != static_cast<uint32_t>(TensorMapKind::im2col))
    refuse_value("there is no such kind of tensor map");
  if (!wanted.rank || wanted.rank > kTensorMapRanks) refuse_value("a tensor map has 1 to 5 dimensions");
  if (!(tiled ? driver().cuTensorMapEncodeTiled != nullptr : driver().cuTensorMapEncodeIm2col != nullptr))
    refuse(kNotSupported, "no-tensor-maps", "the CUDA driver has no tensor maps");
  Map map{};
  if (tiled)
    check("cuTensorMapEncodeTiled", encode_tiled(driver(), wanted, map));
  else
    check("cuTensorMapEncodeIm2col", encode_im2col(driver(), wanted, map));
  done_in_place(op);
  answer(op, map.bytes);
}

}  // namespace jitc::cuda

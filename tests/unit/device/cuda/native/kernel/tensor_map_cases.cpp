// Tensor maps: the driver's bytes come back, for each kind; what is wrong is the op's own error.
#include <bit>
#include <cstring>

#include "harness.h"
#include "jitc/tensor_map.h"

namespace jitc::test {
namespace {

ops::TensorMap tiled() {
  TensorMapSizes sizes{};
  sizes.dims[0] = 64, sizes.dims[1] = 32, sizes.strides[0] = 256;
  TensorMapBoxes boxes{};
  boxes.box[0] = 16, boxes.box[1] = 8, boxes.steps[0] = boxes.steps[1] = 1;
  ops::TensorMap op;
  op.address = 0x20, op.rank = 2, op.type = 7, op.swizzle = 3;
  op.sizes = std::bit_cast<decltype(op.sizes)>(sizes);
  op.boxes = std::bit_cast<decltype(op.boxes)>(boxes);
  return op;
}

std::vector<uint16_t> numbers(const Reply& reply, size_t count) {
  CHECK_EQUAL(reply.status, 0u);
  CHECK_EQUAL(reply.payload.size(), kTensorMapBytes);
  std::vector<uint16_t> found(count);
  std::memcpy(found.data(), reply.payload.data(), count * sizeof(uint16_t));
  return found;
}
using Numbers = std::vector<uint16_t>;
}  // namespace

CASE(tensor_map_of_tiles) {
  Session s;
  const Numbers expected{1, 7, 2, 0, 3, 0, 0, 0x20, 64, 32, 256, 16, 8, 1, 1};
  CHECK(numbers(s.ask(tiled()), expected.size()) == expected);
}

CASE(tensor_map_of_columns) {
  Session s;
  ops::TensorMap op = tiled();
  auto boxes = std::bit_cast<TensorMapBoxes>(op.boxes);
  boxes.lower[0] = -1, boxes.upper[0] = 2, boxes.steps[2] = 1;
  op.boxes = std::bit_cast<decltype(op.boxes)>(boxes);
  op.kind = static_cast<uint32_t>(TensorMapKind::im2col);
  op.rank = 3, op.channels = 5, op.pixels = 6;
  const Numbers expected{2, 7, 3, 0, 3, 0, 0, 0x20, 64, 32, 0, 256, 0, 0xffff, 2, 5, 6, 1, 1, 1};
  CHECK(numbers(s.ask(op), expected.size()) == expected);
}

CASE(tensor_map_that_is_wrong_is_the_ops_own_error) {
  Session s;
  ops::TensorMap op = tiled();
  op.address = 8;  // the driver wants more alignment
  CHECK_EQUAL(s.ask(op).status, 1u);
  op = tiled();
  op.rank = 6;
  CHECK_EQUAL(s.ask(op).status, 1u);
  op = tiled();
  op.kind = 2;
  CHECK_EQUAL(s.ask(op).status, 1u);
  CHECK(s.sink.faults().empty());
}

}  // namespace jitc::test

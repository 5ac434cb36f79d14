// Checks of a collective's operands; see collective_run.h.
#include <cstring>

#include "collective_run.h"
#include "device/common/collective_shape.h"
#include "device/software/arithmetic/reduce.h"
#include "device/software/errors/error.h"
#include "device/software/memory/copy.h"

namespace jitc::software {
namespace {
void check_item(const ops::CollectiveItem& item, uint32_t ranks) {
  check_kind_and_type(item, element_width(item.dtype));
  if (has_reduction(kind_of(item)) && !reducible(item.dtype))
    refuse(kNotSupported, "not-supported",
           std::string("the software device does not reduce ") + dtype_name(item.dtype) +
               ": use bfloat16 or float32");
  check_reduction_and_peer(item, ranks);
}
}  // namespace

void Call::contribute(std::byte* to, uint64_t first, uint64_t count) const {
  const std::byte* const from = send + first * width;
  if (count == 0) return;
  if (has_reduction(kind()) && static_cast<ops::Reduction>(item.reduction) == ops::Reduction::premul_sum)
    scale(item.dtype, factor, item.scale, from, to, count);
  else
    std::memmove(to, from, count * width);
}

Call check_call(const ops::OpHeader& op, const ops::CollectiveItem& item, uint32_t ranks, uint32_t rank,
                const Memory& memory) {
  check_item(item, ranks);
  const size_t width = element_width(item.dtype);
  const Extent times = extent(item, ranks, rank);
  Call call{item, width};
  call.send_bytes = size_of(item.count, width, times.send);
  call.receive_bytes = size_of(item.count, width, times.receive);
  call.send = operand(memory, op, "send buffer", item.send, call.send_bytes);
  call.receive = operand(memory, op, "receive buffer", item.receive, call.receive_bytes);
  if (has_reduction(call.kind()) && item.scale_address)
    call.factor = operand(memory, op, "scale", item.scale_address, width);
  if (!has_reduction(call.kind())) call.item.reduction = 0;
  if (!has_peer(call.kind())) call.item.peer = -1;
  return call;
}

}  // namespace jitc::software

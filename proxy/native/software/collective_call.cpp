// Checks of a collective's operands; see collective_run.h.
#include <cstring>

#include "collective_run.h"
#include "copy.h"
#include "error.h"
#include "reduce.h"

namespace jitc::software {
namespace {
using ops::CollectiveKind;

/// How many times count a rank reads and writes.
struct Extent {
  uint64_t send, receive;
};

Extent extent(const ops::CollectiveItem& item, uint32_t ranks, uint32_t rank) {
  const bool root = item.peer == static_cast<int32_t>(rank);
  switch (static_cast<CollectiveKind>(item.kind)) {
    case CollectiveKind::all_reduce:
      return {1, 1};
    case CollectiveKind::broadcast:
      return root ? Extent{1, item.receive ? 1u : 0u} : Extent{0, 1};
    case CollectiveKind::reduce:
      return {1, root ? 1u : 0u};
    case CollectiveKind::all_gather:
      return {1, ranks};
    case CollectiveKind::reduce_scatter:
      return {ranks, 1};
    case CollectiveKind::all_to_all:
      return {ranks, ranks};
    case CollectiveKind::send:
      return {1, 0};
    default:
      return {0, 1};
  }
}

bool has_reduction(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce ||
         kind == CollectiveKind::reduce_scatter;
}

bool has_peer(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ||
         kind == CollectiveKind::send || kind == CollectiveKind::receive;
}

void check_item(const ops::CollectiveItem& item, uint32_t ranks) {
  if (item.kind > static_cast<uint32_t>(CollectiveKind::receive))
    refuse_value("collective kind " + std::to_string(item.kind));
  const auto kind = static_cast<CollectiveKind>(item.kind);
  if (element_width(item.dtype) == 0) refuse_value("collective data type " + std::to_string(item.dtype));
  if (has_reduction(kind) && !reducible(item.dtype))
    refuse(kNotSupported, "not-supported",
           std::string("the software device does not reduce ") + dtype_name(item.dtype) +
               ": use bfloat16 or float32");
  if (has_reduction(kind) && item.reduction > static_cast<uint32_t>(ops::Reduction::premul_sum))
    refuse_value("reduction " + std::to_string(item.reduction));
  if (has_peer(kind) && (item.peer < 0 || item.peer >= static_cast<int32_t>(ranks)))
    refuse_value("root or peer " + std::to_string(item.peer) + " of " + std::to_string(ranks) + " ranks");
}

uint64_t size_of(uint64_t count, size_t width, uint64_t times) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, uint64_t{width}, &bytes) || __builtin_mul_overflow(bytes, times, &bytes))
    refuse_value("the size of a collective overflows");
  return bytes;
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
  call.send = operand(memory, op, "send buffer", item.send, size_of(item.count, width, times.send));
  call.receive =
      operand(memory, op, "receive buffer", item.receive, size_of(item.count, width, times.receive));
  if (has_reduction(call.kind()) && item.scale_address)
    call.factor = operand(memory, op, "scale", item.scale_address, width);
  if (!has_reduction(call.kind())) call.item.reduction = 0;
  if (!has_peer(call.kind())) call.item.peer = -1;
  return call;
}

}  // namespace jitc::software

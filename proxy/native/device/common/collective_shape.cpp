// See collective_shape.h.
#include "collective_shape.h"

#include <string>

#include "error.h"

namespace jitc::device {
using ops::CollectiveKind;

bool has_reduction(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce ||
         kind == CollectiveKind::reduce_scatter;
}

bool has_peer(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ||
         kind == CollectiveKind::send || kind == CollectiveKind::receive;
}

void check_kind_and_type(const ops::CollectiveItem& item, size_t width) {
  if (item.kind > static_cast<uint32_t>(CollectiveKind::receive))
    refuse_value("collective kind " + std::to_string(item.kind));
  if (width == 0) refuse_value("collective data type " + std::to_string(item.dtype));
}

void check_reduction_and_peer(const ops::CollectiveItem& item, uint32_t ranks) {
  const CollectiveKind kind = kind_of(item);
  if (has_reduction(kind) && item.reduction > static_cast<uint32_t>(ops::Reduction::premul_sum))
    refuse_value("reduction " + std::to_string(item.reduction));
  if (has_peer(kind) && (item.peer < 0 || item.peer >= static_cast<int32_t>(ranks)))
    refuse_value("root or peer " + std::to_string(item.peer) + " of " + std::to_string(ranks) + " ranks");
}

Extent extent(const ops::CollectiveItem& item, uint32_t ranks, uint32_t rank) {
  const bool root = item.peer == static_cast<int32_t>(rank);
  switch (kind_of(item)) {
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

uint64_t size_of(uint64_t count, size_t width, uint64_t times) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, uint64_t{width}, &bytes) || __builtin_mul_overflow(bytes, times, &bytes))
    refuse_value("the size of a collective overflows");
  return bytes;
}

}  // namespace jitc::device

// Checks of an item of a collective op: who takes part and how, how much a rank reads and writes.
//
// Promises: an item that passed all checks has a known kind, a peer among the ranks and sizes that do not
// overflow. All checks refuse by throwing OpError. Called by: CollectiveCall (cuda), check_call (software).
#pragma once
#include <cstddef>
#include <cstdint>

#include "jitc/generated_ops.h"

namespace jitc::device {

inline ops::CollectiveKind kind_of(const ops::CollectiveItem& item) {
  return static_cast<ops::CollectiveKind>(item.kind);
}
bool has_reduction(ops::CollectiveKind kind);
bool has_peer(ops::CollectiveKind kind);

/// Checks the item's kind and data type. width: of that type, 0 if the device does not know it.
void check_kind_and_type(const ops::CollectiveItem& item, size_t width);
/// Checks reduction and peer of an item whose kind has been checked.
void check_reduction_and_peer(const ops::CollectiveItem& item, uint32_t ranks);

/// Multiples of its count that a rank reads and writes.
struct Extent {
  uint64_t send, receive;
};
Extent extent(const ops::CollectiveItem& item, uint32_t ranks, uint32_t rank);
/// Returns the bytes of `times` times `count` elements.
uint64_t size_of(uint64_t count, size_t width, uint64_t times);

}  // namespace jitc::device

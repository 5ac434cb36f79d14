// JITC_POISON: in a roll-back everything that is allocated and is not restored gets a pattern, so that a
// replay cannot lean on it unnoticed. Called by recovery.cpp, between what is kept and what is written back.
#include <algorithm>

#include "session.h"
#include "validation.h"

namespace jitc {
namespace {
constexpr uint64_t kPiece = 1u << 20;

/// The parts of the allocations that no row covers. Rows may overlap each other.
std::vector<MemoryRange> parts_without(const std::vector<Resources::Allocation>& allocations,
                                       std::vector<LiveRow> rows) {
  std::ranges::sort(rows, {}, [](const LiveRow& row) { return row.block.address; });
  std::vector<MemoryRange> parts;
  for (const auto& allocation : allocations) {
    uint64_t at = allocation.address;
    const uint64_t end = allocation.address + allocation.bytes;
    for (const LiveRow& row : rows) {
      const uint64_t from = row.block.address, to = from + row.block.bytes;
      if (to <= at) continue;
      if (from >= end) break;
      if (from > at) parts.push_back({at, from - at});
      at = to;
    }
    if (at < end) parts.push_back({at, end - at});
  }
  return parts;
}
}  // namespace

void Session::spoil(const Resources& resources, const std::vector<LiveRow>& kept) {
  for (const MemoryRange& range : parts_without(resources.allocations, kept)) spoil(range);
}

void Session::spoil(const MemoryRange& range) {
  std::vector<std::byte> piece(std::min(kPiece, range.bytes));
  for (uint64_t at = 0; at < range.bytes; at += piece.size()) {
    const std::span<std::byte> part(piece.data(), std::min<uint64_t>(piece.size(), range.bytes - at));
    poison(range.address + at, part);
    backend_->write(range.address + at, part);
  }
}

}  // namespace jitc

// See row_hashes.h.
#include "row_hashes.h"

namespace jitc {

std::vector<Hash> hashes_of(const DeviceMemory& memory, std::span<const LiveRow> rows) {
  std::vector<MemoryRange> ranges;
  ranges.reserve(rows.size());
  for (const LiveRow& row : rows) ranges.push_back({row.block.address, row.block.bytes});
  std::vector<Hash> hashes(rows.size());
  memory.hash_all(ranges, hashes);
  return hashes;
}

}  // namespace jitc

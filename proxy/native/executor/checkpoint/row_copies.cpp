#include "row_copies.h"

#include "executor/session/shared.h"

namespace jitc {

std::vector<Hash> RowCopies::hashes_of(std::span<const LiveRow> rows) {
  const PhaseTime time(shared_.times.hash);
  return jitc::hashes_of(*shared_.backend, rows);
}

bool RowCopies::measure(std::span<LiveRow> rows, uint64_t sequence) {
  const auto hashes = hashes_of(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].hash = hashes[i];
    if (hashes[i] == kNoHash && rows[i].block.bytes) return refuse(rows[i], sequence);
  }
  return true;
}

bool RowCopies::copy(LiveRow& row, uint64_t sequence) {
  const PhaseTime time(shared_.times.copy);
  const auto [address, bytes, ordinal] = row.block;
  row.copy = shared_.snapshot.take(bytes);
  if (row.copy == Snapshot::kNone) throw SnapshotFull();
  const auto into = shared_.snapshot.bytes(row.copy, bytes);
  const bool hashed = row.hash != kNoHash;
  if (hashed ? shared_.backend->read(address, into) : shared_.backend->read_hashed(address, into, row.hash))
    return true;
  shared_.snapshot.give_back(row.copy, bytes);
  row.copy = Snapshot::kNone;
  return refuse(row, sequence);
}

void RowCopies::drop(const std::vector<LiveRow>& rows) {
  for (const LiveRow& row : rows)
    if (row.copied()) shared_.snapshot.give_back(row.copy, row.block.bytes);
}

bool RowCopies::refuse(const LiveRow& row, uint64_t sequence) {
  shared_.fault(sequence, 1, "bad-live-block",
                "the boundary names a live block that is not allocated: " + std::to_string(row.block.bytes) +
                    " bytes at address " + std::to_string(row.block.address));
  return false;
}

}  // namespace jitc

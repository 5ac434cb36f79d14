#include "row_copies.h"

#include <algorithm>

#include "base/parallel.h"
#include "executor/boundary/row_hashes.h"
#include "executor/core/session_core.h"

namespace jitc {
namespace {
/// Bytes read at once: until then copies of unchanged content take room as well.
constexpr uint64_t kGroupBytes = 32 << 20;
}  // namespace

static_assert(Snapshot::kNone == LiveRow::kNoCopy);

std::vector<Hash> RowCopies::hashes_of(std::span<const LiveRow> rows) {
  const PhaseTime time(core_.times.hash);
  for (const LiveRow& row : rows) core_.times.hashed += row.block.bytes;
  return jitc::hashes_of(*core_.backend, rows);
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
  const PhaseTime time(core_.times.copy);
  take_room(row);
  return read(row, sequence);
}

bool RowCopies::copy_all(std::span<const Wanted> wanted, uint64_t sequence, Later* later) {
  if (!measure_steady(wanted)) return false;
  std::vector<Wanted> changed;
  std::ranges::copy_if(wanted, std::back_inserter(changed),
                       [this](const Wanted& one) { return !reuse(one); });
  const PhaseTime time(core_.times.copy);
  return read_all(changed, sequence, later);
}

bool RowCopies::measure_steady(std::span<const Wanted> wanted) {
  std::vector<LiveRow*> rows;
  std::vector<LiveRow> unknown;
  for (const auto& [row, earlier] : wanted) {
    if (row->hash != kNoHash || !earlier || !steady_.contains(row->block.ordinal)) continue;
    rows.push_back(row);
    unknown.push_back(*row);
  }
  if (rows.empty()) return true;
  const auto hashes = hashes_of(unknown);
  for (size_t i = 0; i < rows.size(); ++i) rows[i]->hash = hashes[i];
  return core_.runs();
}

/// Reuses the copy of an earlier boundary, if one has this content.
bool RowCopies::reuse(const Wanted& one) {
  const auto& [row, earlier] = one;
  const bool same = row->hash != kNoHash && earlier && earlier->copied() && earlier->hash == row->hash;
  if (!same) {
    steady_.erase(row->block.ordinal);
    return false;
  }
  row->copy = earlier->copy;
  core_.snapshot.share(row->copy);
  return true;
}

/// Reads all rows, at once where the device can; content without a hash passes through the processor anyway.
bool RowCopies::read_all(std::span<const Wanted> wanted, uint64_t sequence, Later* later) {
  BlockCopier* const copier = core_.backend->copier();
  std::vector<BlockCopy> blocks;
  for (const auto& [row, earlier] : wanted) {
    if (!copier || row->hash == kNoHash) continue;
    take_room(*row);
    const BlockCopy copy{row->block.address, core_.snapshot.bytes(row->copy, row->block.bytes)};
    (later && later->may_wait(*row) ? later->blocks : blocks).push_back(copy);
  }
  if (!blocks.empty() && !copier->copy(blocks)) return refuse(*wanted.front().row, sequence);
  std::vector<Wanted> group;
  uint64_t bytes = 0;
  for (const Wanted& one : wanted) {
    if (one.row->copied()) continue;
    group.push_back(one);
    bytes += one.row->block.bytes;
    if (bytes < kGroupBytes) continue;
    if (!core_.runs() || !read_or_reuse(group, sequence)) return false;
    group.clear();
    bytes = 0;
  }
  return group.empty() || (core_.runs() && read_or_reuse(group, sequence));
}

/// Reads all rows at once. Rows that turn out not to have changed have no copy of their own afterwards.
bool RowCopies::read_or_reuse(std::span<const Wanted> wanted, uint64_t sequence) {
  std::vector<char> known(wanted.size()), there(wanted.size());
  uint64_t bytes = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    LiveRow& row = *wanted[i].row;
    known[i] = row.hash != kNoHash;
    take_room(row);
    bytes += row.block.bytes;
  }
  in_parallel(core_.backend->copy_threads(), wanted.size(), bytes,
              [&](size_t i) { there[i] = read(*wanted[i].row); });
  bool all = true;
  for (size_t i = 0; i < wanted.size(); ++i) {
    LiveRow& row = *wanted[i].row;
    const uint64_t own = row.copy;
    if (!there[i]) {
      if (all) without_copy(row, sequence);
      all = false;
    } else if (!known[i] && reuse(wanted[i])) {
      core_.snapshot.give_back(own, row.block.bytes);
      steady_.insert(row.block.ordinal);
    }
  }
  return all;
}

void RowCopies::take_room(LiveRow& row) {
  row.copy = core_.snapshot.take(row.block.bytes);
  if (row.copy == Snapshot::kNone) throw SnapshotFull();
  core_.times.copied += row.block.bytes;
}

bool RowCopies::read(LiveRow& row) const {
  const auto into = core_.snapshot.bytes(row.copy, row.block.bytes);
  if (row.hash != kNoHash) return core_.backend->read(row.block.address, into);
  return core_.backend->read_hashed(row.block.address, into, row.hash);
}

bool RowCopies::read(LiveRow& row, uint64_t sequence) { return read(row) || without_copy(row, sequence); }

/// Handles a row that could not be read. Returns false.
bool RowCopies::without_copy(LiveRow& row, uint64_t sequence) {
  core_.snapshot.give_back(row.copy, row.block.bytes);
  row.copy = LiveRow::kNoCopy;
  return refuse(row, sequence);
}

void RowCopies::drop(const std::vector<LiveRow>& rows) {
  for (const LiveRow& row : rows)
    if (row.copied()) core_.snapshot.give_back(row.copy, row.block.bytes);
}

bool RowCopies::refuse(const LiveRow& row, uint64_t sequence) {
  core_.fault(sequence, 1, "bad-live-block",
              "the boundary names a live block that is not allocated: " + std::to_string(row.block.bytes) +
                  " bytes at address " + std::to_string(row.block.address));
  return false;
}

}  // namespace jitc

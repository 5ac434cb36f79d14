#include "boundary_files.h"

#include <algorithm>
#include <cstring>

#include "base/content_hash.h"
#include "base/error.h"
#include "executor/boundary/boundary_loader.h"

namespace jitc {
namespace {
/// A worker commits a boundary in milliseconds at most; reading its records takes less.
constexpr int kTries = 100;
}  // namespace

BoundaryFiles::BoundaryFiles(const RecordLog::Place& journal, const RecordLog::Place& spill,
                             const RecordLog::Place& copies)
    : copies_(copies.path, copies.bytes, SharedMap::Access::read) {
  for (int tries = 0; tries < kTries; ++tries)
    if (load(journal, spill)) return;
  throw Error("the worker of this session gives up its boundaries faster than they can be read");
}

bool BoundaryFiles::load(const RecordLog::Place& journal, const RecordLog::Place& spill) {
  boundaries_.clear();
  try {
    log_.emplace(journal, spill);
    load_records(*log_);
  } catch (const Error&) {
    // Records that were overwritten while they were read look like damage.
    if (!log_ || !log_->moved()) throw;
  }
  return !log_->moved();
}

void BoundaryFiles::load_records(const RecordLog& log) {
  std::optional<StepState> step;
  BoundaryLoader loader(boundaries_, step);
  const std::string damage = log.walk([&](const RecordLog::Checked& record) {
    if (BoundaryLoader::is_of_boundaries(record.header.kind))
      loader.load(log, record.header, record.payload, nullptr);
  });
  if (!damage.empty()) throw Error(damage);
}

const BoundaryState& BoundaryFiles::boundary(uint64_t number) const {
  const auto found = std::ranges::find(boundaries_, number, &BoundaryState::number);
  if (found == boundaries_.end())
    throw Error("boundary " + std::to_string(number) + " is not in the journal");
  return *found;
}

void BoundaryFiles::read(const BoundaryState& boundary, const LiveRow& row, std::span<std::byte> out) const {
  const std::string name =
      "block " + std::to_string(row.block.ordinal) + " of boundary " + std::to_string(boundary.number);
  if (out.size() != row.block.bytes)
    throw Error(name + " has " + std::to_string(row.block.bytes) + " bytes, not " +
                std::to_string(out.size()));
  if (out.empty()) return;
  if (!row.copied()) throw Error(name + " has no copy: only data-parallel peers have it");
  if (row.copy > copies_.size() || out.size() > copies_.size() - row.copy)
    throw Error("the journal is damaged: the copy of " + name + " lies outside of the copies");
  std::memcpy(out.data(), copies_.data() + row.copy, out.size());
  if (content_hash(out) == row.hash) return;
  throw Error(log_->still_has_boundary(boundary.number)
                  ? "the copy of " + name + " is damaged: it is not what was copied"
                  : "boundary " + std::to_string(boundary.number) + " was given up by its worker meanwhile");
}

}  // namespace jitc

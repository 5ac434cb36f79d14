#include "boundary_loader.h"

#include <utility>

namespace jitc {

void BoundaryLoader::load(const RecordLog& log, const RecordHeader& record,
                          std::span<const std::byte> payload, ImageSource* images) {
  if (record.kind == RecordKind::rollback) {
    while (!boundaries_.empty() && boundaries_.back().number > record.sequence) boundaries_.pop_back();
    step_.reset();
    return;
  }
  if (record.part == 0) parts_.clear();
  parts_.insert(parts_.end(), payload.begin(), payload.end());
  if (record.part + 1 != record.parts) return;
  const std::vector<std::byte> document = std::exchange(parts_, {});
  if (record.kind == RecordKind::step) {
    step_ = StepState::unpack(document);
    return;
  }
  BoundaryState state = BoundaryState::unpack(document, images);
  // A later record of the same boundary replaces the earlier one.
  while (!boundaries_.empty() && boundaries_.back().number >= state.number) boundaries_.pop_back();
  if (log.has_boundary(state.number)) boundaries_.push_back(std::move(state));
  step_.reset();
}

}  // namespace jitc

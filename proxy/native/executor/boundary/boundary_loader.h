// Rebuilds boundaries from the records of a journal, in the order in which the records were written.
//
// Promises: the result is what the worker that wrote the records could roll back to; a document with missing
// parts is ignored. Called by: Checkpoints (a worker that takes over) and boundary files (executor/export/).
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "boundary_state.h"
#include "executor/journal/record_log.h"

namespace jitc {

class BoundaryLoader {
 public:
  /// Stores what it reads in these.
  BoundaryLoader(Boundaries& boundaries, std::optional<StepState>& step)
      : boundaries_(boundaries), step_(step) {}

  /// Loads the next record of a kind that is_of_boundaries() knows. `images` is that of unpack_resources.
  /// Throws Error if the document is damaged.
  void load(const RecordLog& log, const RecordHeader& record, std::span<const std::byte> payload,
            ImageSource* images);
  static bool is_of_boundaries(RecordKind kind) {
    return kind == RecordKind::boundary || kind == RecordKind::rollback || kind == RecordKind::step;
  }

 private:
  Boundaries& boundaries_;
  std::optional<StepState>& step_;
  std::vector<std::byte> parts_;  // of a document that is not complete yet
};

}  // namespace jitc

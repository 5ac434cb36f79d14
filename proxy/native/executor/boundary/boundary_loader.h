// Makes boundaries again from the records of a journal, in the order in which these were written.
//
// Promises: what is left is what the worker that wrote them could go back to; a document of which parts are
// missing is none. Called by: Checkpoints (a worker that takes over) and boundary files (executor/export/).
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "boundary_state.h"
#include "executor/journal/record_log.h"

namespace jitc {

class BoundaryLoader {
 public:
  /// What is read goes into these.
  BoundaryLoader(Boundaries& boundaries, std::optional<StepState>& step)
      : boundaries_(boundaries), step_(step) {}

  /// The next record of a kind that is_of_boundaries() knows. images: as unpack_resources has it. Throws
  /// Error: the document is damaged.
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

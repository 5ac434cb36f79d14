// The boundaries of one session as read from its files: rows, and the bytes of what was copied.
//
// Promises: nothing is written; a boundary is one that a worker that takes over could roll back to; bytes
// that are returned have the hash that the journal has of them, or it is an Error. A worker may run
// meanwhile: records that it gives up are noticed. Called by: boundary_api.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/shared/shared_map.h"
#include "executor/boundary/boundary_state.h"
#include "executor/journal/record_log.h"

namespace jitc {

class BoundaryFiles {
 public:
  /// Opens the files and reads all records. Throws Error if they are not a session's, or damaged.
  BoundaryFiles(const RecordLog::Place& journal, const RecordLog::Place& spill,
                const RecordLog::Place& copies);

  const Boundaries& boundaries() const { return boundaries_; }
  /// Returns a boundary. Throws Error if it does not exist.
  const BoundaryState& boundary(uint64_t number) const;
  /// Copies the row's content to `out`, which is as large as the block. Throws Error.
  void read(const BoundaryState& boundary, const LiveRow& row, std::span<std::byte> out) const;

 private:
  /// Loads the records. Returns false if a worker gave up records while they were read.
  bool load(const RecordLog::Place& journal, const RecordLog::Place& spill);
  void load_records(const RecordLog& log);

  std::optional<RecordLog> log_;
  SharedMap copies_;
  Boundaries boundaries_;
};

}  // namespace jitc

// Look-ups of records in a session's journal.
//
// The searches are linear: for recoveries and for errors, never in the path of an op. Called by: Restorer,
// Replay, SessionCore (start), Session (load), and the readers of results (CompletionQueue, Checkpoints).
#pragma once
#include <vector>

#include "device/aspects.h"
#include "executor/journal/journal.h"
#include "jitc/generated_ops.h"
#include "results.h"

namespace jitc {

inline const ops::OpHeader& op_of(const RecordHeader& record) {
  return *reinterpret_cast<const ops::OpHeader*>(record.payload().data());
}
/// Returns the first record of its kind for the op, or nullptr if it is not in the journal.
const RecordHeader* find_record(const Journal& journal, RecordKind kind, uint64_t sequence);
/// Returns the oldest op, or nullptr if there is none.
const RecordHeader* first_op(const Journal& journal);
/// Returns the boundary op with this number, or nullptr if it is not in the journal.
const RecordHeader* find_boundary_op(const Journal& journal, uint64_t boundary);
/// Returns the result of an op that is in the journal with it: memory drops it when the client has it.
std::vector<std::byte> known_payload(const Journal& journal, uint64_t sequence);
/// Returns aborts of communicators from the position on whose outcome is known.
std::vector<KnownAbort> known_aborts(const Journal& journal, uint64_t from);
/// Returns a reader of results' bytes. If the client makes a false claim a record may be lost: then the bytes
/// are any of this session.
ResultReader result_reader(const Journal& journal);

}  // namespace jitc

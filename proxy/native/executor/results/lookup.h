// Records that a session looks for in its journal.
//
// The searches are linear: for recoveries and for what goes wrong, never on the way of an op. Called by:
// Restorer, Replay, SessionCore (start), Session (load), and the readers of results (CompletionQueue,
// Checkpoints).
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
/// The first of its kind for the op; nullptr: it is not in the journal.
const RecordHeader* find_record(const Journal& journal, RecordKind kind, uint64_t sequence);
/// The oldest op; nullptr: there is none.
const RecordHeader* first_op(const Journal& journal);
/// The boundary op with this number; nullptr: it is not in the journal.
const RecordHeader* find_boundary_op(const Journal& journal, uint64_t boundary);
/// The result of an op that is in the journal with it: in memory it goes when the client has it.
std::vector<std::byte> known_payload(const Journal& journal, uint64_t sequence);
/// Aborts of communicators from the position on whose outcome is known.
std::vector<KnownAbort> known_aborts(const Journal& journal, uint64_t from);
/// Finds the bytes of results. A record may be gone when the client says what is not true: then the bytes are
/// any of this session.
ResultReader result_reader(const Journal& journal);

}  // namespace jitc

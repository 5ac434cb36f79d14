// Records that a session looks for in its journal.
//
// Linear searches, for recoveries and for what goes wrong: never on the way of an op. Called by: Restorer,
// Replay, CompletionQueue (through Shared).
#pragma once
#include <span>
#include <vector>

#include "journal.h"

namespace jitc {

inline const ops::OpHeader& op_of(const RecordHeader& record) {
  return *reinterpret_cast<const ops::OpHeader*>(record.payload().data());
}
/// The first of its kind for the op; nullptr: it is not in the journal.
const RecordHeader* find_record(const Journal& journal, RecordKind kind, uint64_t sequence);
/// The boundary op with this number; nullptr: it is not in the journal.
const RecordHeader* find_boundary_op(const Journal& journal, uint64_t boundary);
/// The result of an op that is in the journal with it: in memory it goes when the client has it.
std::vector<std::byte> known_payload(const Journal& journal, uint64_t sequence);
/// Of the result record at a position. The record may be gone when the client says what is not true: then the
/// bytes are any of this session.
std::span<const std::byte> result_bytes(const Journal& journal, uint64_t position, size_t size);

}  // namespace jitc

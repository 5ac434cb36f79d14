#include "lookup.h"

#include <algorithm>

#include "executor/journal/wire.h"

namespace jitc {
namespace {

template <class Wanted>
const RecordHeader* first(const Journal& journal, Wanted&& wanted) {
  uint64_t position = journal.head();
  while (const RecordHeader* const record = journal.at(position)) {
    if (wanted(*record)) return record;
    position = Journal::after(*record);
  }
  return nullptr;
}
}  // namespace

const RecordHeader* find_record(const Journal& journal, RecordKind kind, uint64_t sequence) {
  return first(journal,
               [&](const RecordHeader& one) { return one.kind == kind && one.sequence == sequence; });
}

const RecordHeader* first_op(const Journal& journal) {
  return first(journal, [](const RecordHeader& one) { return one.kind == RecordKind::op; });
}

const RecordHeader* find_boundary_op(const Journal& journal, uint64_t boundary) {
  return first(journal, [&](const RecordHeader& one) {
    return one.kind == RecordKind::op && op_of(one).op == static_cast<uint16_t>(ops::OpId::boundary) &&
           as<ops::Boundary>(op_of(one)).boundary == boundary;
  });
}

std::vector<std::byte> known_payload(const Journal& journal, uint64_t sequence) {
  const RecordHeader* const record = find_record(journal, RecordKind::result, sequence);
  if (!record) return {};
  const auto payload = record->payload().subspan(sizeof(Results::Record));
  return {payload.begin(), payload.end()};
}

std::vector<KnownAbort> known_aborts(const Journal& journal, uint64_t from) {
  std::vector<KnownAbort> open, known;
  while (const RecordHeader* const record = journal.at(from)) {
    from = Journal::after(*record);
    if (record->kind == RecordKind::op) {
      const ops::OpHeader& op = op_of(*record);
      if (op.op == static_cast<uint16_t>(ops::OpId::communicator_abort))
        open.push_back({as<ops::CommunicatorAbort>(op).handle, op.sequence, {}});
    } else if (record->kind == RecordKind::result) {
      const auto found = std::ranges::find(open, record->sequence, &KnownAbort::sequence);
      if (found == open.end()) continue;
      const auto outcome = record->payload().subspan(sizeof(Results::Record));
      known.push_back({found->handle, found->sequence, {outcome.begin(), outcome.end()}});
    }
  }
  return known;
}

ResultReader result_reader(const Journal& journal) {
  return [&journal](uint64_t position, size_t size) -> std::span<const std::byte> {
    const RecordHeader* const record = journal.at(position);
    if (!record) return {};
    return {record->payload().data() + sizeof(Results::Record), size};
  };
}

}  // namespace jitc

// Records that are not what they should be, and ops that a device does not execute.
#include "harness.h"

namespace jitc::test {
namespace {
/// Status and text: the result of an op that waits, else the fault.
std::pair<uint32_t, std::string> outcome(Session& session, const ops::OpInfo& info, uint64_t sequence) {
  if (!info.waits) {
    const auto fault = session.sink.wait_fault();
    CHECK_EQUAL(fault.sequence, sequence);
    return {fault.status, fault.message};
  }
  const Reply reply = session.sink.wait_result(sequence);
  return {reply.status, reply.text()};
}
}  // namespace

CASE(records_of_unknown_ops_are_faults) {
  for (const uint16_t id : {uint16_t{0}, uint16_t{0x0100}, uint16_t{0x0fff}, uint16_t{0xeeee}}) {
    Session s;
    ops::OpHeader bare{};
    const uint64_t unknown = s.give_record(&bare, sizeof bare, id, 0, nullptr, 0);
    const auto fault = s.sink.wait_fault();
    CHECK_EQUAL(fault.sequence, unknown);
    CHECK_EQUAL(fault.status, 801u);
    CHECK(contains(fault.message, "this worker does not know the op"));
  }
}

CASE(records_that_are_truncated_are_refused_by_name) {
  for (const ops::OpInfo& info : ops::kOps) {
    if (info.fixed_size == sizeof(ops::OpHeader)) continue;
    Session s;
    ops::OpHeader bare{};
    const uint64_t given = s.give_record(&bare, sizeof bare, static_cast<uint16_t>(info.id), 0, nullptr, 0);
    const auto [status, text] = outcome(s, info, given);
    CHECK_EQUAL(status, 1u);
    CHECK_EQUAL(text, "op " + std::string(info.name) + " (sequence " + std::to_string(given) +
                          "): the record is truncated");
  }
}

CASE(records_of_ops_of_other_devices_are_refused_by_name) {
  // Of no device as they are: the executor turns them into copies that bring their bytes.
  const ops::OpInfo& info = *ops::find(static_cast<uint16_t>(ops::OpId::copy_h2d_pinned));
  Session s;
  const uint64_t given = s.give(ops::CopyH2dPinned{});
  const auto [status, text] = outcome(s, info, given);
  CHECK_EQUAL(status, 801u);
  CHECK(text.starts_with("op copy_h2d_pinned (sequence 1): the "));
}

}  // namespace jitc::test

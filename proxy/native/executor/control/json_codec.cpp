#include "json_codec.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "json_values.h"
#include "tally_document.h"

namespace jitc {
namespace {
std::string hash_text(const Hash& hash) { return hash == kNoHash ? "" : to_hex(hash); }

Json rows_document(const std::vector<LiveRow>& rows) {
  Json list = Json::array();
  for (const LiveRow& row : rows) {
    if (row.variable()) continue;
    const bool known = row.hash != kNoHash;
    list.push_back({{"address", row.block.address},
                    {"bytes", row.block.bytes},
                    {"ordinal", row.block.ordinal},
                    {"hash", hash_text(row.hash)},
                    {"hash_before_step", hash_text(row.before)},
                    {"copied", known && row.copied()},
                    {"in_place", !known && row.copied()}});
  }
  return list;
}

Json document(const RecoverReply& reply) {
  return {{"complete", reply.complete},     {"message", reply.message},
          {"bytes", reply.bytes},           {"links", reply.direct_path},
          {"tally", document(reply.tally)}, {"missing", rows_document(reply.missing)}};
}

Json document(const Position& one) {
  return {{"committed", one.committed}, {"prepared", one.prepared},        {"reached", one.reached},
          {"begun", one.begun},         {"executed", one.executed},        {"received", one.received},
          {"reserves", one.reserves},   {"history", document(one.history)}};
}

Json document(const BoundaryState& state) {
  const bool variables_change = std::any_of(state.rows.begin(), state.rows.end(), [](const LiveRow& row) {
    return row.variable() && !row.settled();
  });
  return {{"boundary", state.number},
          {"tally", document(state.resources.tally)},
          {"rows", rows_document(state.rows)},
          {"step_has_waits", state.step_waits != 0},
          {"step_has_collectives", state.step_collectives != 0},
          {"variables_change", variables_change},
          {"step_has_allocations", state.step_allocations != 0},
          {"measured", state.measured != 0}};
}

Json document(const Tolerance::Seen& seen) { return {{"results", seen.results}, {"largest", seen.largest}}; }

Json document(const Verdict& verdict) {
  return {{"step", verdict.step},
          {"identical", verdict.identical()},
          {"blocks", verdict.blocks},
          {"bytes", verdict.bytes},
          {"different", rows_document(verdict.different)},
          {"unwritten", verdict.unwritten.size()},
          {"differences", document(verdict.results)}};
}

Json document(const UnderWay& op) {
  return {
      {"sequence", op.sequence}, {"collective", op.collective}, {"part", op.part}, {"entered", op.entered}};
}

Json document(uint64_t bytes) { return document(RecoverReply{true, "", bytes, {}}); }

Transfer transfer(const Json& json) {
  return {get<uint64_t>(json, "address"), get<uint64_t>(json, "bytes"), get<uint64_t>(json, "offset"),
          hash_of(json, "hash")};
}

LiveRow replacement(const Json& json) {
  LiveRow row{{get<uint64_t>(json, "address"), get<uint64_t>(json, "bytes"), get<uint64_t>(json, "ordinal")}};
  row.hash = hash_of(json, "hash");
  return row;
}

Policy policy(const Json& json) {
  Policy policy;
  policy.copy_all = get<bool>(json, "copy_all");
  policy.barrier = get<bool>(json, "barrier");
  for (const uint64_t one : get_all(json, "volatile_ordinals", number)) policy.mutable_ordinals.insert(one);
  for (const uint64_t one : get_all(json, "unique_ordinals", number)) policy.rank_local_ordinals.insert(one);
  for (const uint64_t one : get_all(json, "known_ordinals", number)) policy.classified_ordinals.insert(one);
  policy.measure_every = get<uint64_t>(json, "measure_every");
  policy.reserve = get<uint64_t>(json, "reserve");
  policy.next_reserve = get<uint64_t>(json, "next_reserve");
  return policy;
}

Fault fault(const Json& request) {
  const auto found = request.find("fault");
  if (found == request.end() || !found->is_object()) throw Error("the request has no \"fault\"");
  Fault fault;
  fault.kind = get<std::string>(*found, "kind");
  fault.sequence = get<uint64_t>(*found, "sequence");
  fault.operations = get<uint64_t>(*found, "operations");
  fault.boundary = get<uint64_t>(*found, "boundary");
  fault.phase = get<std::string>(*found, "phase");
  fault.skip = get<uint64_t>(*found, "skip");
  fault.armed_at_boundary = get<bool>(*found, "armed_at_boundary");
  fault.number = get<uint64_t>(*found, "number");
  return fault;
}

uint32_t timeout(const Json& request) {
  const auto said = get<uint32_t>(request, "timeout_ms");
  return said ? said : 30'000;
}
uint64_t epoch(const Json& request) { return get<uint64_t>(request, "epoch"); }
uint64_t boundary(const Json& request) { return get<uint64_t>(request, "boundary"); }
std::string path(const Json& request) { return get<std::string>(request, "path"); }
std::vector<Transfer> blocks(const Json& request) { return get_all(request, "blocks", transfer); }

/// Returns the reply of a rank whose state is to be restored, or to serve others.
Json offered(Session& session, RecoverReply reply) {
  reply.tally = session.restorer().tally();
  return document(session.transfers().with_direct_path(std::move(reply)));
}

DirectTransferRequest direct(const Json& json) {
  return {epoch(json), path(json), get<uint64_t>(json, "path_bytes"), timeout(json), blocks(json)};
}

using Command = std::function<Json(Session&, const Json&)>;

const std::map<std::string, Command>& commands() {
  static const std::map<std::string, Command> kCommands{
      {"Fence", [](Session& s, const Json& r) { return document(s.recovery().fence(epoch(r))); }},
      {"Keep", [](Session& s, const Json& r) { return offered(s, s.recovery().keep(epoch(r), timeout(r))); }},
      {"Rollback",
       [](Session& s, const Json& r) {
         const auto replaced = get_all(r, "replaced", replacement);
         return offered(s, s.restorer().roll_back(boundary(r), epoch(r), replaced));
       }},
      {"FinishStep",
       [](Session& s, const Json& r) {
         return offered(s, s.recovery().finish_step(boundary(r), timeout(r), epoch(r)));
       }},
      {"SkipStep",
       [](Session& s, const Json& r) {
         return offered(s, s.restorer().skip_step(boundary(r), timeout(r), epoch(r)));
       }},
      {"Export",
       [](Session& s, const Json& r) {
         return document(s.transfers().export_blocks(path(r), blocks(r), epoch(r)));
       }},
      {"Import",
       [](Session& s, const Json& r) {
         return document(s.transfers().import_blocks(path(r), blocks(r), epoch(r)));
       }},
      {"Send", [](Session& s, const Json& r) { return document(s.transfers().send_blocks(direct(r))); }},
      {"Receive",
       [](Session& s, const Json& r) { return document(s.transfers().receive_blocks(direct(r))); }},
      {"Resume",
       [](Session& s, const Json& r) {
         const auto slots = get_all(r, "slots", number);
         s.recovery().resume(epoch(r), {slots.begin(), slots.end()}, get<double>(r, "bound"));
         return Json::object();
       }},
      {"Abandon",
       [](Session& s, const Json& r) {
         s.recovery().abandon(get<uint32_t>(r, "status"), get<std::string>(r, "message"));
         return Json::object();
       }},
      {"BoundaryTable",
       [](Session& s, const Json& r) {
         return document(s.boundary_table(boundary(r), get<bool>(r, "earlier")));
       }},
      {"SetPolicy", [](Session& s, const Json& r) { return s.set_policy(policy(r)), Json::object(); }},
      {"SetSpacing",
       [](Session& s, const Json& r) { return s.set_spacing(get<uint64_t>(r, "every")), Json::object(); }},
      {"Validate",
       [](Session& s, const Json& r) { return Json{{"standing", !s.validate(get<uint64_t>(r, "step"))}}; }},
      {"Hold", [](Session& s, const Json& r) { return s.stop_after(boundary(r)), Json::object(); }},
      {"Tell",
       [](Session& s, const Json& r) { return s.notice(get<std::string>(r, "text")), Json::object(); }},
      {"Arm", [](Session& s, const Json& r) { return s.arm(fault(r)), Json::object(); }},
  };
  return kCommands;
}

}  // namespace

SessionRequest parse_session(const std::string& text) {
  const Json json = parse_object(text);
  SessionRequest request;
  request.session = get<uint64_t>(json, "session");
  request.token = get<std::string>(json, "token");
  request.slot = get<uint32_t>(json, "slot");
  request.journal = {get<std::string>(json, "journal_path"), get<uint64_t>(json, "journal_bytes")};
  request.spill = {get<std::string>(json, "spill_path"), get<uint64_t>(json, "spill_bytes")};
  request.snapshot_path = get<std::string>(json, "snapshot_path");
  request.snapshot_bytes = get<uint64_t>(json, "snapshot_bytes");
  request.board_path = get<std::string>(json, "board_path");
  request.address_base = get<uint64_t>(json, "address_base");
  request.address_bytes = get<uint64_t>(json, "address_bytes");
  request.rebuild = get<bool>(json, "rebuild");
  request.guest = get<bool>(json, "guest");
  request.epoch = get<uint64_t>(json, "epoch");
  request.pinned = {get<std::string>(json, "pinned_path"), get<uint64_t>(json, "pinned_base"),
                    get<uint64_t>(json, "pinned_bytes")};
  if (!request.session) throw Error("the request has no \"session\"");
  return request;
}

uint64_t session_of(const std::string& request) { return get<uint64_t>(parse_object(request), "session"); }

std::string run_command(Session& session, const std::string& method, const std::string& request) {
  const auto found = commands().find(method);
  if (found == commands().end()) throw Error("unknown command \"" + method + "\"");
  return found->second(session, parse_object(request)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string stats_document(const std::vector<SessionStats>& sessions) {
  Json list = Json::array();
  uint64_t used = 0, total = 0, executed = 0, journal = 0, boundary = 0;
  for (const SessionStats& one : sessions) {
    list.push_back({{"session", one.session},
                    {"ops_executed", one.ops_executed},
                    {"executed", one.executed},
                    {"received", one.received},
                    {"journal_bytes", one.journal_bytes},
                    {"snapshot_bytes", one.snapshot_bytes},
                    {"snapshot_held", one.snapshot_held},
                    {"boundary", one.boundary},
                    {"committed", one.committed},
                    {"memory_used", one.memory_used},
                    {"state", one.state},
                    {"policy", one.policy},
                    {"protected", one.protected_},
                    {"unread_bytes", one.unread_bytes},
                    {"held_back", one.held_back},
                    {"boundary_phases",
                     {{"boundaries", one.phases_of},
                      {"seconds", one.phases},
                      {"hashed_bytes", one.hashed_bytes},
                      {"copied_bytes", one.copied_bytes}}},
                    {"differences", document(one.differences)},
                    {"reserves", one.reserves},
                    {"reserve_seconds", one.reserve_seconds},
                    {"under_way", document(one.under_way)},
                    {"turns",
                     {{"moved_out", one.turns.times},
                      {"bytes", one.turns.bytes},
                      {"seconds", one.turns.seconds},
                      {"waits", one.turns.out}}},
                    {"will_go_on", one.will_go_on},
                    {"uncommitted", one.uncommitted},
                    {"uneven", one.uneven},
                    {"steering_reads", one.steering_reads},
                    {"validating", one.validating},
                    {"validation", document(one.verdict)}});
    used += one.memory_used;
    total = one.memory_total;
    executed += one.ops_executed;
    journal += one.journal_bytes;
    boundary = std::max(boundary, one.boundary);
  }
  return Json{{"ops_executed", executed}, {"journal_bytes", journal}, {"boundary", boundary},
              {"memory_used", used},      {"memory_total", total},    {"sessions", list}}
      .dump();
}

}  // namespace jitc

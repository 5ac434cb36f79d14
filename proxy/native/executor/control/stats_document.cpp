// See stats_document.h.
#include "stats_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "messages.h"

namespace jitc {
namespace {
using Json = nlohmann::json;

Json blocks(const std::vector<LiveRow>& rows) {
  Json list = Json::array();
  for (const auto& one : messages::message(rows)) list.push_back(messages::document(one));
  return list;
}

Json document(const Tolerance::Seen& seen) { return {{"results", seen.results}, {"largest", seen.largest}}; }

Json document(const Verdict& verdict) {
  return {{"step", verdict.step},
          {"identical", verdict.identical()},
          {"blocks", verdict.blocks},
          {"bytes", verdict.bytes},
          {"different", blocks(verdict.different)},
          {"unwritten", verdict.unwritten.size()},
          {"differences", document(verdict.results)}};
}

Json document(const UnderWay& op) {
  return {
      {"sequence", op.sequence}, {"collective", op.collective}, {"part", op.part}, {"entered", op.entered}};
}

Json document(const SessionStats& one) {
  Json json = Json::object();
  json["session"] = one.session;
  json["ops_executed"] = one.ops_executed;
  json["executed"] = one.executed;
  json["received"] = one.received;
  json["journal_bytes"] = one.journal_bytes;
  json["snapshot_bytes"] = one.snapshot_bytes;
  json["snapshot_held"] = one.snapshot_held;
  json["boundary"] = one.boundary;
  json["committed"] = one.committed;
  json["memory_used"] = one.memory_used;
  json["state"] = one.state;
  json["policy"] = one.policy;
  json["protected"] = one.protected_;
  json["unread_bytes"] = one.unread_bytes;
  json["held_back"] = one.held_back;
  json["boundary_phases"] = {{"boundaries", one.phases_of},
                             {"seconds", one.phases},
                             {"hashed_bytes", one.hashed_bytes},
                             {"copied_bytes", one.copied_bytes}};
  json["differences"] = document(one.differences);
  json["reserves"] = one.reserves;
  json["reserve_seconds"] = one.reserve_seconds;
  json["under_way"] = document(one.under_way);
  json["turns"] = {{"moved_out", one.turns.times},
                   {"bytes", one.turns.bytes},
                   {"seconds", one.turns.seconds},
                   {"waits", one.turns.out}};
  json["will_go_on"] = one.will_go_on;
  json["uncommitted"] = one.uncommitted;
  json["uneven"] = one.uneven;
  json["steering_reads"] = one.steering_reads;
  json["validating"] = one.validating;
  json["validation"] = document(one.verdict);
  return json;
}
}  // namespace

std::string stats_document(const std::vector<SessionStats>& sessions) {
  Json list = Json::array();
  uint64_t used = 0, total = 0, executed = 0, journal = 0, boundary = 0;
  for (const SessionStats& one : sessions) {
    list.push_back(document(one));
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

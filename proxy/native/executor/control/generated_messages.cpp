// Generated from protos/jitc/v1/worker.proto and control.proto by `python -m jitc.interpose.generator`;
// do not edit.
#include "generated_messages.h"

#include "message_fields.h"

namespace jitc::messages {

void fill(const Json& json, Fault& message) {
  read(json, "kind", message.kind);
  read(json, "sequence", message.sequence);
  read(json, "operations", message.operations);
  read(json, "boundary", message.boundary);
  read(json, "phase", message.phase);
  read(json, "skip", message.skip);
  read(json, "armed_at_boundary", message.armed_at_boundary);
  read(json, "number", message.number);
}

void fill(const Json& json, ArmRequest& message) {
  read(json, "fault", message.fault);
  read(json, "session", message.session);
}

void fill(const Json& json, SessionRequest& message) {
  read(json, "session", message.session);
  read(json, "epoch", message.epoch);
}

void fill(const Json& json, BlockRow& message) {
  read(json, "address", message.address);
  read(json, "bytes", message.bytes);
  read(json, "ordinal", message.ordinal);
  read(json, "hash", message.hash);
  read(json, "hash_before_step", message.hash_before_step);
  read(json, "copied", message.copied);
  read(json, "in_place", message.in_place);
}

void fill(const Json& json, RecoverRequest& message) {
  read(json, "session", message.session);
  read(json, "epoch", message.epoch);
  read(json, "boundary", message.boundary);
  read(json, "timeout_ms", message.timeout_ms);
  read(json, "replaced", message.replaced);
}

void fill(const Json& json, Transfer& message) {
  read(json, "address", message.address);
  read(json, "bytes", message.bytes);
  read(json, "offset", message.offset);
  read(json, "hash", message.hash);
}

void fill(const Json& json, TransferRequest& message) {
  read(json, "session", message.session);
  read(json, "boundary", message.boundary);
  read(json, "path", message.path);
  read(json, "blocks", message.blocks);
  read(json, "epoch", message.epoch);
  read(json, "memory", message.memory);
}

void fill(const Json& json, DirectTransferRequest& message) {
  read(json, "session", message.session);
  read(json, "epoch", message.epoch);
  read(json, "path", message.path);
  read(json, "path_bytes", message.path_bytes);
  read(json, "timeout_ms", message.timeout_ms);
  read(json, "blocks", message.blocks);
  read(json, "memory", message.memory);
}

void fill(const Json& json, ResumeRequest& message) {
  read(json, "session", message.session);
  read(json, "epoch", message.epoch);
  read(json, "slots", message.slots);
  read(json, "bound", message.bound);
  read(json, "sessions", message.sessions);
}

void fill(const Json& json, AbandonRequest& message) {
  read(json, "session", message.session);
  read(json, "status", message.status);
  read(json, "message", message.message);
}

void fill(const Json& json, BoundaryTableRequest& message) {
  read(json, "session", message.session);
  read(json, "boundary", message.boundary);
  read(json, "earlier", message.earlier);
}

void fill(const Json& json, Policy& message) {
  read(json, "session", message.session);
  read(json, "copy_all", message.copy_all);
  read(json, "barrier", message.barrier);
  read(json, "volatile_ordinals", message.volatile_ordinals);
  read(json, "unique_ordinals", message.unique_ordinals);
  read(json, "measure_every", message.measure_every);
  read(json, "known_ordinals", message.known_ordinals);
  read(json, "reserve", message.reserve);
  read(json, "next_reserve", message.next_reserve);
}

void fill(const Json& json, Spacing& message) {
  read(json, "session", message.session);
  read(json, "every", message.every);
}

void fill(const Json& json, ValidateRequest& message) {
  read(json, "session", message.session);
  read(json, "step", message.step);
}

void fill(const Json& json, HoldRequest& message) {
  read(json, "session", message.session);
  read(json, "boundary", message.boundary);
}

void fill(const Json& json, TellRequest& message) {
  read(json, "session", message.session);
  read(json, "text", message.text);
}

void fill(const Json& json, OpenSessionRequest& message) {
  read(json, "session", message.session);
  read(json, "token", message.token);
  read(json, "slot", message.slot);
  read(json, "journal_path", message.journal_path);
  read(json, "journal_bytes", message.journal_bytes);
  read(json, "spill_path", message.spill_path);
  read(json, "spill_bytes", message.spill_bytes);
  read(json, "snapshot_path", message.snapshot_path);
  read(json, "snapshot_bytes", message.snapshot_bytes);
  read(json, "board_path", message.board_path);
  read(json, "address_base", message.address_base);
  read(json, "address_bytes", message.address_bytes);
  read(json, "rebuild", message.rebuild);
  read(json, "epoch", message.epoch);
  read(json, "pinned_path", message.pinned_path);
  read(json, "pinned_base", message.pinned_base);
  read(json, "pinned_bytes", message.pinned_bytes);
  read(json, "guest", message.guest);
}

Json document(const Empty&) { return Json::object(); }

Json document(const Membership& message) {
  Json json = Json::object();
  write(json, "communicator", message.communicator);
  write(json, "rank", message.rank);
  write(json, "left", message.left);
  write(json, "collectives", message.collectives);
  return json;
}

Json document(const Exchange& message) {
  Json json = Json::object();
  write(json, "communicator", message.communicator);
  write(json, "peer", message.peer);
  write(json, "received", message.received);
  write(json, "count", message.count);
  return json;
}

Json document(const Tally& message) {
  Json json = Json::object();
  write(json, "memberships", message.memberships);
  write(json, "exchanges", message.exchanges);
  return json;
}

Json document(const KeptTally& message) {
  Json json = Json::object();
  write(json, "number", message.number);
  write(json, "tally", message.tally);
  return json;
}

Json document(const History& message) {
  Json json = Json::object();
  write(json, "kept", message.kept);
  write(json, "now", message.now);
  write(json, "uneven", message.uneven);
  return json;
}

Json document(const Position& message) {
  Json json = Json::object();
  write(json, "committed", message.committed);
  write(json, "prepared", message.prepared);
  write(json, "reached", message.reached);
  write(json, "begun", message.begun);
  write(json, "executed", message.executed);
  write(json, "received", message.received);
  write(json, "reserves", message.reserves);
  write(json, "history", message.history);
  return json;
}

Json document(const BlockRow& message) {
  Json json = Json::object();
  write(json, "address", message.address);
  write(json, "bytes", message.bytes);
  write(json, "ordinal", message.ordinal);
  write(json, "hash", message.hash);
  write(json, "hash_before_step", message.hash_before_step);
  write(json, "copied", message.copied);
  write(json, "in_place", message.in_place);
  return json;
}

Json document(const RecoverReply& message) {
  Json json = Json::object();
  write(json, "complete", message.complete);
  write(json, "message", message.message);
  write(json, "bytes", message.bytes);
  write(json, "missing", message.missing);
  write(json, "links", message.links);
  write(json, "tally", message.tally);
  return json;
}

Json document(const BoundaryTableReply& message) {
  Json json = Json::object();
  write(json, "boundary", message.boundary);
  write(json, "rows", message.rows);
  write(json, "step_has_waits", message.step_has_waits);
  write(json, "step_has_collectives", message.step_has_collectives);
  write(json, "variables_change", message.variables_change);
  write(json, "measured", message.measured);
  write(json, "tally", message.tally);
  return json;
}

Json document(const ValidateReply& message) {
  Json json = Json::object();
  write(json, "standing", message.standing);
  return json;
}

Json document(const RaceSide& message) {
  Json json = Json::object();
  write(json, "op", message.op);
  write(json, "operator", message.operator_);
  write(json, "place", message.place);
  write(json, "stream", message.stream);
  write(json, "sequence", message.sequence);
  write(json, "writes", message.writes);
  return json;
}

Json document(const RaceReport& message) {
  Json json = Json::object();
  write(json, "session", message.session);
  write(json, "first", message.first);
  write(json, "second", message.second);
  write(json, "address", message.address);
  write(json, "bytes", message.bytes);
  return json;
}

Json call(Commands& commands, std::string_view method, const Json& json) {
  if (method == "Arm") {
    commands.arm(parsed<ArmRequest>(json));
    return Json::object();
  }
  if (method == "Fence") {
    return document(commands.fence(parsed<SessionRequest>(json)));
  }
  if (method == "Keep") {
    return document(commands.keep(parsed<RecoverRequest>(json)));
  }
  if (method == "Rollback") {
    return document(commands.rollback(parsed<RecoverRequest>(json)));
  }
  if (method == "FinishStep") {
    return document(commands.finish_step(parsed<RecoverRequest>(json)));
  }
  if (method == "SkipStep") {
    return document(commands.skip_step(parsed<RecoverRequest>(json)));
  }
  if (method == "Export") {
    return document(commands.export_(parsed<TransferRequest>(json)));
  }
  if (method == "Import") {
    return document(commands.import(parsed<TransferRequest>(json)));
  }
  if (method == "Send") {
    return document(commands.send(parsed<DirectTransferRequest>(json)));
  }
  if (method == "Receive") {
    return document(commands.receive(parsed<DirectTransferRequest>(json)));
  }
  if (method == "Resume") {
    commands.resume(parsed<ResumeRequest>(json));
    return Json::object();
  }
  if (method == "Abandon") {
    commands.abandon(parsed<AbandonRequest>(json));
    return Json::object();
  }
  if (method == "BoundaryTable") {
    return document(commands.boundary_table(parsed<BoundaryTableRequest>(json)));
  }
  if (method == "SetPolicy") {
    commands.set_policy(parsed<Policy>(json));
    return Json::object();
  }
  if (method == "SetSpacing") {
    commands.set_spacing(parsed<Spacing>(json));
    return Json::object();
  }
  if (method == "Validate") {
    return document(commands.validate(parsed<ValidateRequest>(json)));
  }
  if (method == "Hold") {
    commands.hold(parsed<HoldRequest>(json));
    return Json::object();
  }
  if (method == "Tell") {
    commands.tell(parsed<TellRequest>(json));
    return Json::object();
  }
  throw Error("unknown command \"" + std::string(method) + "\"");
}

}  // namespace jitc::messages

#include "replay.h"

#include <cstring>
#include <vector>

#include "executor/core/session_core.h"

namespace jitc {

Replay::Replay(SessionCore& core) : core_(core), memory_reserved_(core.request.rebuild) {}

void Replay::begin() { replay_end_ = core_.journal.tail(); }

bool Replay::is_over() const { return core_.at.cursor >= replay_end_; }

void Replay::result_is_there(uint64_t sequence) {
  core_.progress.note_again(sequence);
  wake();
}

void Replay::wake() {
  if (waits_) core_.life.changed.tell();
}

bool Replay::is_there(const RecordHeader& record) const {
  if (record.position >= replay_end_) return true;
  if (record.kind != RecordKind::result && record.kind != RecordKind::reported) return true;
  return reached_again(record);
}

bool Replay::await(const RecordHeader& record) {
  if (is_there(record)) return true;
  core_.backend->flush();
  return core_.life.wait(waits_, [&] { return reached_again(record); });
}

/// Waits also for an op that came after the state was restored: the client may have read it from the previous
/// worker. It is not trusted: a stream that has done all submitted work has come far enough.
bool Replay::await_known(const ops::Known& op) {
  if (is_known(op)) return true;
  core_.backend->flush();
  return core_.life.wait(waits_, [&] { return is_known(op); });
}

bool Replay::is_known(const ops::Known& op) const {
  const StreamProgress known{op.stream, op.until};
  return core_.progress.reached({&known, 1});
}

bool Replay::reached_again(const RecordHeader& record) const {
  if (record.kind == RecordKind::result) {
    if (core_.results.status(record.sequence).value_or(1) != 0)
      return true;  // an error, or a result that is not needed any more
    return core_.progress.noted_again(record.sequence);
  }
  const auto payload = record.payload();
  std::vector<StreamProgress> reported(payload.size() / sizeof(StreamProgress));
  std::memcpy(reported.data(), payload.data(), reported.size() * sizeof(StreamProgress));
  return core_.progress.reached(reported);
}

void Replay::reserve_memory() {
  core_.budget->reserve();
  memory_reserved_ = true;
}

void Replay::release_memory_after_replay() {
  if (!memory_reserved_ || !is_over()) return;
  memory_reserved_ = false;
  core_.budget->end_reservation();
}

}  // namespace jitc

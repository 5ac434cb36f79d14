// One session: a training process on a GPU. Takes its ops into the journal, executes them from there, and
// rolls back to a boundary when a recovery asks for it.
//
// A session is a holder of parts: each has its own state, and says in its head who calls it. They share what
// session_core.h lists. Threads: the stream's reader (submit), its writer (poll), the dispatcher (own), back
// end threads (ExecutionSink), control threads (commands; one at a time). State of the dispatcher alone may
// be used by commands while it is parked. Called by: Executor (sessions of a process), api.cpp (the stream),
// session_commands.h (commands).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "client_end.h"
#include "device/progress_doorbell.h"
#include "device/services.h"
#include "device/sink.h"
#include "dispatcher.h"
#include "executor/checkpoint/checkpoints.h"
#include "executor/checkpoint/row_copies.h"
#include "executor/core/session_core.h"
#include "executor/core/session_types.h"
#include "executor/drain/drain.h"
#include "executor/issue/backpressure.h"
#include "executor/issue/delivery.h"
#include "executor/issue/op_issuer.h"
#include "executor/recovery/peer_transfer.h"
#include "executor/recovery/recovery.h"
#include "executor/recovery/restorer.h"
#include "executor/replay/replay.h"
#include "executor/step/boundary_maker.h"
#include "executor/step/late_boundary.h"
#include "executor/step/meeting.h"
#include "executor/step/step_gate.h"
#include "intake.h"
#include "jitc/generated_ops.h"

namespace jitc {

class Session final : public ExecutionSink, public CommunicatorSegments {
 public:
  Session(const SessionRequest& request, const DeviceOptions& options, Host& host);
  ~Session() override;

  ClientEnd& client() { return client_; }

  // Recovery and policy (worker.proto). Each throws Error with what is wrong.
  Recovery& recovery() { return recovery_; }
  Restorer& restorer() { return restorer_; }
  PeerTransfer& transfers() { return transfers_; }
  BoundaryState boundary_table(uint64_t boundary, bool earlier) const;
  void set_policy(Policy policy);
  void set_spacing(uint64_t every) { checkpoints_.plan.space(every); }
  /// Validates an optimizer step: the session stops before it, and compares when it is there again. Returns
  /// false if it is stopped or about to, for another validation or a recovery: ask again once it continues.
  bool validate(uint64_t step);
  /// Stops the session after this boundary, before anything else runs (fault "replica-divergence").
  void stop_after(uint64_t boundary);
  /// Prints a line for the user in the program's output.
  void notice(const std::string& text) { core_.notice(text); }
  void arm(const Fault& fault);
  SessionStats stats();
  /// Marks the device as unusable for every session of this process.
  void break_device(uint32_t status, std::string_view cause, std::string_view message);
  /// Frees the session's slot: the process is done with it.
  void leave();
  /// Releases the images of a program that is over: nothing that it held on this node is needed any more.
  void release_images() { core_.images.close(); }

  // ExecutionSink, CommunicatorSegments
  void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) override;
  void progress(uint64_t stream, uint64_t sequence) override;
  ProgressDoorbell& progress_doorbell() override { return core_.progress.progress_doorbell(); }
  void fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) override;
  void injection_point(const ops::OpHeader& op, std::string_view phase) override;
  bool delivered(uint64_t sequence) const override { return core_.results.known(sequence).has_value(); }
  void race(const Race& race) override;
  CommunicatorSegment join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks, uint32_t rank) override;

 private:
  void make_device();
  void load();
  void load_record(const RecordHeader& record);
  void stop();

  SessionCore core_;
  Backpressure backpressure_{core_};
  Replay replay_{core_};
  Delivery delivery_{core_, backpressure_, replay_};
  OpIssuer issuer_{core_, backpressure_, delivery_};
  RowCopies copies_{core_};
  Checkpoints checkpoints_{core_, issuer_, copies_};
  Drain drain_{core_, checkpoints_, replay_};
  LateBoundary late_{core_, checkpoints_, copies_, drain_};
  StepGate gate_{core_, issuer_, replay_, checkpoints_, copies_, late_, drain_};
  BoundaryMaker boundaries_{core_, {issuer_, checkpoints_, copies_, gate_, late_, drain_}};
  Intake intake_{core_, checkpoints_, replay_};
  Restorer restorer_{core_, {issuer_, delivery_, replay_, checkpoints_, copies_, gate_, boundaries_}};
  Recovery recovery_{core_, {replay_, checkpoints_, copies_, boundaries_, late_, restorer_}};
  PeerTransfer transfers_{core_, checkpoints_, restorer_};
  ClientEnd client_{core_, {intake_, delivery_, backpressure_, recovery_, dispatcher_}};
  Meeting meeting_{core_, checkpoints_, boundaries_, replay_};
  Dispatcher dispatcher_{
      core_, {issuer_, backpressure_, replay_, checkpoints_, gate_, boundaries_, late_, drain_, meeting_}};
};

}  // namespace jitc

// Live allocations on their way between this rank and a peer: through a file that both map, or from device to
// device.
//
// Promises: nothing moves that could not be checked; a transfer from device to device that fails is no error,
// for the coordinator then takes the way through the host, whose checks say what is wrong; the receiver
// checks what has arrived. Called by: control threads while the session is fenced (json_codec.h). Each call
// throws Error with what is wrong.
#pragma once
#include <string>
#include <vector>

#include "executor/core/session_types.h"

namespace jitc {

class Checkpoints;
class Restorer;
class SessionCore;

class PeerTransfer {
 public:
  PeerTransfer(SessionCore& core, const Checkpoints& checkpoints, Restorer& restorer)
      : core_(core), checkpoints_(checkpoints), restorer_(restorer) {}

  /// epoch: of the recovery that asks, 0: not said. When a newer one has fenced the session the call is
  /// refused: its path may be that of other memory by now.
  uint64_t export_blocks(const std::string& path, const std::vector<Transfer>& blocks, uint64_t epoch = 0);
  uint64_t import_blocks(const std::string& path, const std::vector<Transfer>& blocks, uint64_t epoch = 0);
  /// Both ends at once. Incomplete: nothing has come about, and the receiver's allocations hold anything.
  RecoverReply send_blocks(const DirectTransferRequest& request);
  RecoverReply receive_blocks(const DirectTransferRequest& request);
  /// Adds to the reply whether this device can exchange allocations with a peer directly.
  RecoverReply with_direct_path(RecoverReply reply) const;

 private:
  /// On all threads. Throws Error for a block that cannot be moved.
  template <class Move>
  uint64_t move_all(const std::vector<Transfer>& blocks, const Move& move) const;
  RecoverReply move_blocks(const DirectTransferRequest& request, bool sends);
  bool content_is_right(const std::vector<Transfer>& blocks) const;

  SessionCore& core_;
  const Checkpoints& checkpoints_;
  Restorer& restorer_;
};

}  // namespace jitc

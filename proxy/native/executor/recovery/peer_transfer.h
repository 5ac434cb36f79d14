// Transfers of live allocations between this rank and a peer: through a file that both map, or from device to
// device.
//
// Promises: nothing moves that could not be checked; a transfer from device to device that fails is no error,
// for the coordinator then uses the host path, whose checks say what is wrong; the receiver checks what has
// arrived. Called by: control threads while the session is fenced (session_commands.h). Each call throws
// Error with what is wrong.
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

  /// Writes blocks to the file. epoch: of the recovery that asks, 0: not given. A call is refused once a
  /// newer recovery has fenced the session: its path may be that of other memory by now.
  uint64_t export_blocks(const std::string& path, const std::vector<Transfer>& blocks, uint64_t epoch = 0);
  uint64_t import_blocks(const std::string& path, const std::vector<Transfer>& blocks, uint64_t epoch = 0);
  /// Runs at both ends at once. Incomplete: nothing was transferred, the receiver's content is undefined.
  RecoverReply send_blocks(const DirectTransferRequest& request);
  RecoverReply receive_blocks(const DirectTransferRequest& request);
  /// Adds to the reply whether this device can exchange allocations with a peer directly.
  RecoverReply with_direct_path(RecoverReply reply) const;

 private:
  /// Moves blocks on all threads. Throws Error for a block that cannot be moved.
  template <class Move>
  uint64_t move_all(const std::vector<Transfer>& blocks, const Move& move) const;
  RecoverReply move_blocks(const DirectTransferRequest& request, bool sends);
  bool content_is_right(const std::vector<Transfer>& blocks) const;

  SessionCore& core_;
  const Checkpoints& checkpoints_;
  Restorer& restorer_;
};

}  // namespace jitc

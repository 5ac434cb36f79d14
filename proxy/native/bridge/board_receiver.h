// Mirror slots of one peer's sessions on this node's board (base/shared/job_board.h).
//
// Promises: a history is written before the counters that belong to it; in an epoch counters only grow, and
// names that the peer has shown go when it shows them no more, others stay; what is older than the slot's
// epoch, or than the newest request, is dropped. A slot that the service has not entered is
// left alone.
// Lock rule: a mutex of its own; expect() returns when nothing of earlier requests is written any more.
// Called by: Peer.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/shared/job_board.h"
#include "device/common/mirror/frames.h"

namespace jitc::bridge {

using device::Frame;
using device::FrameWriter;

class BoardReceiver {
 public:
  explicit BoardReceiver(const JobBoard& board) : board_(board) {}

  /// A slot here, and the least epoch whose frames count.
  struct Place {
    uint32_t slot = 0;
    uint64_t epoch = 0;
    bool operator==(const Place&) const = default;
  };
  /// Sets the sessions of the peer that are mirrored here. Each whose place is another one is asked for
  /// again.
  void expect(const std::map<uint64_t, Place>& places);
  /// Asks for all sessions again: the connection is another one.
  void ask_again();
  /// Returns whether no session is mirrored, and the peer knows that.
  bool idle();
  /// Asks the peer for its sessions, if that is due. Returns false if there is no room.
  bool send_request(FrameWriter& out);
  /// Takes a frame of the board. Returns false if it was dropped. Throws Malformed.
  bool receive(const Frame& frame);

 private:
  struct Session {
    Place place;
    uint64_t request = 0;
    std::vector<uint64_t> names;    // that the peer shows
    std::vector<uint64_t> history;  // in part
    uint64_t history_epoch = 0;
  };

  bool enter_epoch(const Session& one, uint64_t epoch) const;
  void take_names(Session& one, device::PayloadReader payload) const;
  void take_history(Session& one, uint64_t epoch, device::PayloadReader payload) const;
  void take_counters(const Session& one, device::PayloadReader payload) const;

  const JobBoard& board_;
  std::mutex mutex_;
  std::map<uint64_t, Session> sessions_;
  uint64_t requests_ = 0;  // numbers given
  bool due_ = false;
};

}  // namespace jitc::bridge

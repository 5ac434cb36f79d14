// Slots of sessions on this node, as they are shown to one peer.
//
// A slot is sent when the service lets the peer see it (show) and the peer asks for it (want): so the two may
// come in any order. Promises: what is sent of a slot was there at one time, and each part of it is as new as
// the parts that readers look at before; after a new request everything is sent.
// Lock rule: a mutex of its own; any thread. Called by: Peer.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/shared/job_board.h"
#include "device/common/mirror/frames.h"

namespace jitc::bridge {

using device::FrameWriter;

class BoardSender {
 public:
  explicit BoardSender(const JobBoard& board) : board_(board) {}

  /// Sets the sessions that the peer may see, with their slots.
  void show(const std::map<uint64_t, uint32_t>& slots);
  /// Sets the sessions that the peer asks for, each with the number of its request.
  void want(const std::map<uint64_t, uint64_t>& requests);
  /// Forgets what was sent and asked for: the connection is over.
  void forget();
  /// Returns whether no session is shown or asked for.
  bool idle();
  /// Writes what the peer lacks. Returns whether it lacks nothing more of what was on the board at this call.
  bool send(FrameWriter& out);

 private:
  /// Content of a slot at one time.
  struct Content {
    uint64_t epoch = 0;
    JobCounters counters;
    JobBoard::Shown history;
    std::vector<uint64_t> names;
  };
  struct Session {
    std::optional<uint32_t> slot;     // the peer may see it
    std::optional<uint64_t> request;  // the peer asks for it
    std::optional<Content> sent;      // since then
    std::optional<Content> going;     // in part
    size_t words = 0;                 // of its history, sent
    bool names_sent = false;
  };
  enum class Found { content, gone, unreadable };

  bool send(uint64_t session, Session& one, FrameWriter& out);
  bool finish(uint64_t session, Session& one, FrameWriter& out) const;
  bool send_names(uint64_t session, Session& one, FrameWriter& out) const;
  bool send_history(uint64_t session, Session& one, FrameWriter& out) const;
  bool send_counters(uint64_t session, const Session& one, FrameWriter& out) const;
  Found read(uint64_t session, uint32_t slot, const std::optional<Content>& known, Content& content) const;
  void drop_unknown();

  const JobBoard& board_;
  std::mutex mutex_;
  std::map<uint64_t, Session> sessions_;
};

}  // namespace jitc::bridge

// Another node with ranks of communicators, or sessions, that this node has part in: the frames to it and
// from it.
//
// A link is open when both sides have made it: `linked` goes out when the service links here, and what the
// peer has linked before this node is remembered. Nothing of a link is sent before the peer's `linked` has
// come. Promises: of a communicator that is unlinked, what ranks published before is still sent; a rank
// appears there only after what the board said of its session; no peer can make this node keep more than it
// has links and slots.
// Lock rule: collect() and apply() each one at a time, together with each other and with the rest. Called by:
// Bridge.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "board_receiver.h"
#include "board_sender.h"
#include "device/common/mirror/segment_mirror.h"

namespace jitc::bridge {

using device::FrameCounts;
using device::FrameKind;
using device::SegmentMirror;

class Peer {
 public:
  /// Links of a node, and those that a peer may make before it: one more is refused, or malformed.
  static constexpr size_t kMostLinks = 8192;

  Peer(uint32_t number, const JobBoard& board)
      : board_sender(board), board_receiver(board), number_(number), board_(board) {}

  void link(uint64_t link, uint32_t ranks, std::shared_ptr<SegmentMirror> mirror);
  /// Unlinks it here. The mirror is kept until its last frame has been written.
  void unlink(uint64_t link);
  /// Returns whether there is nothing to remember of the peer.
  bool idle();
  /// Ends the connection. Returns the mirrors of its links.
  std::vector<std::shared_ptr<SegmentMirror>> cut();
  /// Writes what the peer lacks, as far as there is room. Returns the bytes.
  size_t collect(std::span<std::byte> room);
  /// Takes frames. Returns whether there may be something new to send. Throws Malformed.
  bool apply(std::span<const std::byte> bytes);

  BoardSender board_sender;
  BoardReceiver board_receiver;
  FrameCounts sent, received;
  std::atomic<uint64_t> dropped{0};  // frames received of what has ended

 private:
  struct Link {
    std::shared_ptr<SegmentMirror> mirror;
    uint32_t ranks = 0;
    bool open = false;     // the peer has linked it, too
    bool over = false;     // unlinked here: what is left is sent
    bool emptied = false;  // nothing is left
  };
  struct Notice {
    FrameKind kind;
    uint64_t link;
    uint32_t ranks;
  };
  using Open = std::vector<std::pair<uint64_t, Link>>;

  bool send_notices(FrameWriter& out);
  Open open_links();
  void send_links(Open& links, bool shown, FrameWriter& out);
  void drop_emptied(const Open& links);
  void retract(uint64_t link);
  bool take(const Frame& frame);
  void take_linked(uint64_t link, device::PayloadReader payload);
  void take_unlinked(uint64_t link, const device::PayloadReader& payload);
  void take_wanted(device::PayloadReader payload);
  void take_of_board(const Frame& frame);
  void take_of_link(const Frame& frame);

  const uint32_t number_;
  const JobBoard& board_;
  std::mutex sending_, receiving_;
  std::mutex mutex_;  // guards what follows; the last one to be taken
  std::map<uint64_t, Link> links_;
  std::map<uint64_t, uint32_t> early_;  // linked by the peer, not here: ranks
  std::deque<Notice> notices_;          // to be sent
  uint64_t turn_ = 0;                   // with sending_: the link that is sent first next time
};

}  // namespace jitc::bridge

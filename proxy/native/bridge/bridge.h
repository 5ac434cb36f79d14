// The bridge of a node (jitc/bridge_api.h): its links with other nodes, and the wait for something to send.
//
// Everything that can be new rings one doorbell, on the board: ranks of linked segments, sessions on the
// board, and the functions here. What rings nothing (the service, when it marks a rank as absent) is found by
// a look every tenth of a second. Promise: what was published before a call of collect() is in its answer, or
// in those of the next ones. Lock rule: any thread; those that collect wait without a lock. Called by:
// api.cpp.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/shared/job_board.h"
#include "base/shared/shared_map.h"
#include "documents.h"
#include "peer.h"

namespace jitc::bridge {

class Bridge {
 public:
  // All throw Error with what is wrong.
  explicit Bridge(const std::string& board_path);
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  void link(const std::string& description);
  void unlink(uint64_t link);
  void mirror(const std::string& document);
  size_t collect(uint32_t peer, std::span<std::byte> room, int timeout_ms);
  void apply(uint32_t peer, std::span<const std::byte> bytes);
  void cut(uint32_t peer, const std::string& why);
  std::string counters() const;

 private:
  struct Linked {
    std::shared_ptr<SegmentMirror> mirror;
    uint64_t identity;  // of the segment
    std::vector<uint32_t> peers;
  };
  /// Nodes with which one has anything in common.
  static constexpr size_t kMostPeers = 1024;
  using Peers = std::map<uint32_t, std::shared_ptr<Peer>>;
  /// Returns the peer; a new one takes the place of one that there is nothing to remember of. Throws Error if
  /// there are too many.
  std::shared_ptr<Peer> peer(uint32_t number);
  Peers all() const;
  void link_with(const device::MirroredSegment& segment, const std::shared_ptr<SegmentMirror>& mirror);

  SharedMap memory_;
  const JobBoard board_;
  mutable std::mutex linking_;      // links and documents come one after the other; guards links_
  mutable std::mutex peers_mutex_;  // guards peers_
  Peers peers_;
  std::map<uint64_t, Linked> links_;
};

}  // namespace jitc::bridge

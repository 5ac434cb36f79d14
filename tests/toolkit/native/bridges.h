// Bridges of several nodes in one process (jitc/bridge_api.h): each node has a board of its own, and threads,
// or the test, carry the bytes from one to the other.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/shared/board.h"
#include "jitc/bridge_api.h"

namespace jitc::test {

/// A memory file of this process, of zeros; its path works for other processes too, as long as this one
/// lives.
std::string memory_file(uint64_t bytes);

using Bytes = std::vector<uint8_t>;

class Bridges {
 public:
  /// A communicator whose ranks are on several nodes.
  struct Communicator {
    uint64_t link = 1;
    std::string device = "software";
    uint32_t ranks = 0;
    uint64_t bytes = 0, identity = 0;
    std::vector<std::string> paths{};  // of its segments, by node
    std::vector<uint32_t> nodes{};     // by rank
  };

  explicit Bridges(size_t nodes);
  /// With boards that are there already, by node.
  explicit Bridges(const std::vector<std::string>& boards);
  ~Bridges();
  Bridges(const Bridges&) = delete;
  Bridges& operator=(const Bridges&) = delete;

  size_t size() const { return nodes_.size(); }
  jitc_bridge* operator[](size_t node) const { return nodes_[node]->bridge; }
  const JobBoard& board(size_t node) const { return nodes_[node]->board.job; }
  const std::string& board_path(size_t node) const { return nodes_[node]->path; }

  /// Links it on one node, or on all that have a rank of it; throws Failure when that is refused.
  void link(const Communicator& one, size_t node);
  void link(const Communicator& one);

  /// What there is to send now, and its way to the other node. apply throws Failure when it is malformed.
  Bytes collect(size_t from, size_t to, size_t room = 1 << 20) const;
  void apply(size_t from, size_t to, const Bytes& bytes) const;
  /// Carries all that there is, both ways between all nodes, until there is nothing more.
  void carry_all(size_t room = 1 << 20) const;
  /// From now on threads do that, until stop().
  void start(size_t room = 1 << 20);
  void stop();
  /// Ends the connection on both sides; threads carry nothing more of it.
  void cut(size_t one, size_t other, const std::string& why);

 private:
  struct Node {
    std::string path;
    Board board;
    jitc_bridge* bridge;
    explicit Node(const std::string& path);
    ~Node() { jitc_bridge_destroy(bridge); }
  };
  struct Carrier {
    size_t from, to;
    std::atomic<bool> over{false};
    std::thread thread{};
    Carrier(size_t from, size_t to) : from(from), to(to) {}
  };
  void end(const std::function<bool(const Carrier&)>& which);

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Carrier>> carriers_;
};

}  // namespace jitc::test

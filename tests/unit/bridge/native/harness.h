// Jobs of several nodes in one process: boards, segments and bridges of each, and ranks as sessions of the
// software device.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bridges.h"
#include "op_client.h"
#include "ranks.h"

namespace jitc::test {

/// A session of the software device, in a range of addresses of its own.
class Session : public OpClient {
 public:
  Session(CommunicatorSegments& segments, uint64_t slot);
  ~Session() override { backend.reset(); }
};

/// Ranks in turn on the nodes, all in the communicator kComm.
class Job {
 public:
  static constexpr uint64_t kComm = 0x500;

  /// room: of the buffers that bridges are given.
  Job(size_t nodes, int ranks, size_t room = 1 << 20);
  ~Job();

  Bridges bridges;
  Session& operator[](int rank) { return *sessions_[static_cast<size_t>(rank)]; }
  int ranks() const { return static_cast<int>(sessions_.size()); }
  /// Runs body(rank) in a thread for each rank; throws what one of them has thrown.
  void run(const std::function<void(int rank)>& body);
  void join();
  /// Marks the rank as ended in a communicator, as its node's service does.
  void end(uint8_t id, uint32_t rank, const std::string& why);
  /// Links of communicators that were complete so far.
  size_t links() const;

 private:
  class Node final : public CommunicatorSegments {
   public:
    Node(Job& job, size_t number) : job_(job), number_(number) {}
    CommunicatorSegment join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks,
                             uint32_t rank) override {
      return job_.join(number_, unique_id, ranks, rank);
    }

   private:
    Job& job_;
    const size_t number_;
  };
  CommunicatorSegment join(size_t node, const std::array<uint8_t, 128>& id, uint32_t ranks, uint32_t rank);
  Bridges::Communicator make(uint32_t ranks);

  mutable std::mutex mutex_;
  std::map<std::array<uint8_t, 128>, Bridges::Communicator> known_;
  uint64_t made_ = 0, linked_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

/// A communicator of the software device on nodes, ranks in turn, that nobody has joined; linked nowhere.
Bridges::Communicator make_segments(const Bridges& bridges, uint32_t ranks, uint64_t link = 1,
                                    const std::string& device = "software");

/// Gives its memory back, once nobody has it mapped.
void drop_segments(const Bridges::Communicator& one);

/// Frames, to be looked at and put together again.
struct SomeFrame {
  uint8_t kind = 0;
  uint64_t subject = 0;
  Bytes payload{};
};
std::vector<SomeFrame> frames_of(const Bytes& bytes);
Bytes bytes_of(const std::vector<SomeFrame>& frames);
std::vector<uint8_t> kinds_of(const Bytes& bytes);

/// What a node's bridge has counted, as its document.
std::string stats(const Bridges& bridges, size_t node);
/// Checks that the call failed, with a text that has this in it.
void check_refused(int64_t code, const std::string& part);

}  // namespace jitc::test

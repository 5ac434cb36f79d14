// Ranks as processes: how they are started, and the segments through which their communicators meet.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client.h"
#include "device/services.h"

namespace jitc::test {

class BridgeServer;

/// Hands out segments by unique id and epoch: memory files of the process that made it, inherited by fork.
/// With JITC_TEST_NODES each of so many nodes has segments of its own, and a process between them has their
/// bridges (bridge_server.h); ranks go to the nodes in turn.
class Segments final : public CommunicatorSegments {
 public:
  Segments();
  ~Segments() override;
  CommunicatorSegment join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks, uint32_t rank) override;
  /// Says, as the service does, that the rank does nothing any more in a communicator that was made here.
  void absent(const std::array<uint8_t, 128>& unique_id, uint32_t rank, const std::string& why);
  /// From now on joins are answered so.
  void supersede(bool superseded) { superseded_ = superseded; }
  /// So many of the next answers are out of date when they are used: they name this path, the segment's own
  /// when it is empty, and this identity. The others are as above.
  void mislead(int times, const std::string& path, uint64_t identity);
  /// Whether nobody has written to the segment.
  bool blank(const std::array<uint8_t, 128>& unique_id);
  /// How often it was asked.
  int asked() const { return asked_; }
  /// Must be made before fork for every communicator that the children use.
  void make(const std::array<uint8_t, 128>& unique_id, int epochs = 1);
  /// For ids that nobody knows before: spare segments, taken by the first who asks, found again through a
  /// shared table.
  void make_spares(size_t count);
  /// Of the process that calls: its later joins are of the next epoch.
  void next_epoch() { ++epoch_; }

 private:
  struct Entry {
    std::array<uint8_t, 128> id;
    int epoch;
    uint32_t used;
  };
  /// Paths by node.
  using Places = std::vector<std::string>;
  Places make_places() const;
  Places find(const std::array<uint8_t, 128>& unique_id);
  const std::string& place_of(const Places& places, uint32_t rank) const;

  std::unique_ptr<BridgeServer> bridges_;  // none: all ranks are on one node
  std::map<std::pair<std::array<uint8_t, 128>, int>, Places> known_;
  std::vector<Places> spares_;
  std::atomic<int> epoch_{0}, asked_{0};
  std::atomic<bool> superseded_{false};
  std::atomic<int> misled_{0};
  std::string wrong_path_;
  uint64_t wrong_identity_ = 0;
  Entry* table_ = nullptr;
  std::atomic<uint32_t>* lock_ = nullptr;
};

std::array<uint8_t, 128> unique_id(uint8_t value);

/// Gives the op; its result comes when all ranks have.
uint64_t create_communicator(Client& client, uint8_t id, int ranks, int rank, uint64_t handle = 0x500);
/// Joins and returns the handle; throws Failure when that is refused.
uint64_t join_communicator(Client& client, uint8_t id, int ranks, int rank, uint64_t handle = 0x500);
void destroy_communicator(Client& client, uint64_t handle);

/// Runs body(rank) in one process per rank; throws when one fails or takes too long. The rank `killed` ends
/// by SIGKILL.
void run_ranks(int ranks, const std::function<void(int rank)>& body, int killed = -1);

/// A number that processes share; made before they are.
class SharedNumber {
 public:
  SharedNumber();
  ~SharedNumber();
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;
  void add(int more = 1) { number_->fetch_add(more); }
  /// Waits until it is at least so much; throws Failure after a long time.
  void wait_for(int least) const;

 private:
  std::atomic<int>* const number_;
};

}  // namespace jitc::test

// Test toolkit for the software device: its sessions.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ranks.h"

namespace jitc::test {

/// Module images: what the test has put there, by a hash of its choice.
struct Images final : ImageSource {
  std::span<const std::byte> image(const ImageHash& hash, uint64_t bytes, std::string& error) override;
  std::map<ImageHash, std::vector<std::byte>> known;
};

/// A session of the software device.
class Session : public Client {
 public:
  explicit Session(CommunicatorSegments* segments = nullptr, uint64_t slot = 0, uint64_t limit = 1u << 30,
                   const std::string& operators = "", PinnedRange pinned = {}, double hang_seconds = 0,
                   std::shared_ptr<MemoryBudget> budget = nullptr);
  ~Session();
  uint64_t communicator(uint8_t id, int ranks, int rank, uint64_t handle = 0x500) {
    return join_communicator(*this, id, ranks, rank, handle);
  }
  /// Of the op that was given last.
  uint64_t sequence() const { return sequence_; }

  Segments no_segments;
  Images images;
};

}  // namespace jitc::test

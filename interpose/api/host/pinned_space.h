// Pinned memory that a session's worker shares: blocks in one file that both processes map at one address.
//
// Used by host_memory.cpp. Promises: freed memory leaves no page behind; outside of blocks nothing can be
// read or written by mistake.
#pragma once
#include <map>
#include <mutex>
#include <string>

#include "session/session.h"

namespace jitc::api {

class PinnedSpace {
 public:
  explicit PinnedSpace(const session::PinnedRegion& region);
  /// Returns why there is no shared memory; empty if there is.
  const std::string& missing() const { return missing_; }
  /// Returns zeroed memory of whole pages; nullptr: no room left for it.
  void* take(uint64_t bytes);
  /// Frees memory. bytes: as passed to take.
  void give_back(void* memory, uint64_t bytes);
  static uint64_t rounded(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

 private:
  static constexpr uint64_t kPage = 4096;
  std::string reserve(const session::PinnedRegion& region);
  uint64_t take_range(uint64_t bytes);
  void give_range(uint64_t offset, uint64_t bytes);

  std::string missing_;
  int fd_ = -1;  // the session's
  uint64_t base_ = 0;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_;  // offset to bytes; neighbours are one range
};

}  // namespace jitc::api

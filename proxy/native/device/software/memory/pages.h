// The host's pages under the addresses of one session, in units of 2 MiB as a GPU has them.
//
// Promises: pages that are not open are inaccessible, as long as the process has enough mappings for that;
// any number of blocks, in any order of allocation, needs a bounded number of mappings (vm.max_map_count is
// 65,530 for a process). Called by: Memory, with its mutex held.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "device/software/steady/watched_pages.h"

namespace jitc::software {

class Pages {
 public:
  static constexpr uint64_t kUnit = 2u << 20;
  static constexpr uint64_t rounded(uint64_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

  /// watched: parts that are read-only for now.
  explicit Pages(WatchedPages& watched) : watched_(watched) {}
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  /// Reserves the addresses, without access; false with the reason.
  bool reserve(uint64_t base, uint64_t bytes, std::string& error);

  // Addresses are multiples of a unit; bytes are rounded up to units.
  /// Makes the pages accessible, with zeros.
  bool open(uint64_t address, uint64_t bytes);
  /// Returns the content to the system.
  void close(uint64_t address, uint64_t bytes);
  /// Moves the content to addresses outside of the range; nullptr: the system does not allow it. The pages
  /// stay open, with undefined content.
  std::byte* take_out(uint64_t address, uint64_t bytes);
  /// Moves the content back. The pages are open afterwards.
  bool put_back(std::byte* content, uint64_t address, uint64_t bytes);
  static void drop(std::byte* content, uint64_t bytes);

 private:
  uint64_t start_of(uint64_t address, uint64_t end) const;
  void note_open(uint64_t from, uint64_t to);
  bool may_close(uint64_t from, uint64_t to);

  WatchedPages& watched_;
  uint64_t base_ = 0, bytes_ = 0;      // bytes 0: not reserved
  std::map<uint64_t, uint64_t> open_;  // from, to: neighbours merged
};

}  // namespace jitc::software

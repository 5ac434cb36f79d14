// Memory that nothing has written since it began to be watched: the processor says so.
//
// Pages are read-only while they are watched. The first write to a range is caught, makes all of it writable
// again, and goes on. Promises: a range that counts as unwritten has the bytes that it had when watch()
// returned; what is not a write to a watched range goes on to whoever handled it before (a crash stays one).
// A system call that is to write there fails instead (EFAULT): ops write with the processor alone.
// Called by: Pages (end_in) and SteadyHashes; any thread.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>

namespace jitc::software {

class WatchedPages {
 public:
  static constexpr uint64_t kPage = 4096;

  WatchedPages() = default;
  ~WatchedPages();
  WatchedPages(const WatchedPages&) = delete;
  WatchedPages& operator=(const WatchedPages&) = delete;

  /// Of whole pages that are open; what was watched in them is not any more. False: there are too many
  /// already, or the system does not allow it.
  bool watch(uint64_t address, uint64_t bytes);
  bool unwritten(uint64_t address, uint64_t bytes) const;
  /// Writable again, and not watched: each range with bytes in this one.
  void end_in(uint64_t address, uint64_t bytes);

 private:
  struct Range {
    uint64_t bytes;
    uint32_t slot;
  };
  void end(uint64_t address, const Range& range);
  void end_all_in(uint64_t address, uint64_t bytes);

  mutable std::mutex mutex_;
  std::map<uint64_t, Range> ranges_;  // by address; none overlaps another
};

}  // namespace jitc::software

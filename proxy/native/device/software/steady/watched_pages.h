// Detects writes by page protection: a watched range is known to be unwritten until its first write fault.
//
// Pages are read-only while watched. The first write to a range faults, makes all of it writable again, and
// continues. Promises: a range that counts as unwritten has the bytes that it had when watch() returned;
// other faults go to the previous handler (a crash stays one). A system call that writes there fails instead
// (EFAULT): ops write with the processor alone. Called by: Pages (end_in) and SteadyHashes; any thread.
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

  /// Watches whole open pages, ending earlier watches in them. False: there are too many ranges already, or
  /// the system does not allow it.
  bool watch(uint64_t address, uint64_t bytes);
  bool unwritten(uint64_t address, uint64_t bytes) const;
  /// Makes each range with bytes in this one writable again, and unwatched.
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

// Work on many blocks of memory, on several threads.
//
// Called by: users that copy or hash live memory as a whole (RowCopies, Restorer, the software device).
// Promises: each item is worked on once; all are done when it returns. Threads live as long as the call: they
// cost some 20 us each, and little work gets none.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace jitc {

/// Fewest bytes that are worth a thread of their own.
constexpr uint64_t kBytesOfAThread = 2 << 20;

/// Calls work(i) for each i < count, on at most so many threads, the caller's among them. bytes: of all
/// items. Work must not throw, and must not care which thread it is on.
template <class Work>
void in_parallel(int threads, size_t count, uint64_t bytes, const Work& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t one = next.fetch_add(1); one < count; one = next.fetch_add(1)) work(one);
  };
  const uint64_t worthwhile = std::min<uint64_t>(count, bytes / kBytesOfAThread);
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < std::min<uint64_t>(static_cast<uint64_t>(std::max(threads, 1)), worthwhile))
      helpers.emplace_back(run);
  } catch (const std::system_error&) {  // no more threads: the existing ones do the work
  }
  run();
}

}  // namespace jitc

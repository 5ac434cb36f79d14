// Tight loops around calls of the CUDA driver, for the costs of the check on a GPU: Python is too slow to
// time them.
//
// Called by: programs/costs.py through ctypes, with the functions as it found them: the driver's, or the
// interposer's. Every loop gives the first error, or 0, and writes seconds.
#include <chrono>
#include <cstddef>
#include <cstdint>

#define GPU_LOOPS_API extern "C" __attribute__((visibility("default")))

namespace {
using Clock = std::chrono::steady_clock;
using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                       void**, void**);
using OnStream = int (*)(void*);
using Read = int (*)(void*, uint64_t, size_t);

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }
}  // namespace

/// count empty launches; until the last call came back, and until the GPU had done them.
GPU_LOOPS_API int gpu_loop_launches(Launch launch, OnStream synchronize, void* function, void* stream,
                                    int count, double* issued, double* done) {
  int failed = 0;
  const auto start = Clock::now();
  for (int each = 0; each < count && !failed; ++each)
    failed = launch(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  *issued = since(start);
  if (!failed) failed = synchronize(stream);
  *done = since(start);
  return failed;
}

/// A launch and the wait for it, each time.
GPU_LOOPS_API int gpu_loop_round_trips(Launch launch, OnStream synchronize, void* function, void* stream,
                                       int count, double* each_seconds) {
  int failed = 0;
  for (int each = 0; each < count && !failed; ++each) {
    const auto start = Clock::now();
    failed = launch(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    if (!failed) failed = synchronize(stream);
    each_seconds[each] = since(start);
  }
  return failed;
}

/// Eight bytes from the GPU, each time: what .item() waits for.
GPU_LOOPS_API int gpu_loop_reads(Read read, uint64_t address, int count, double* each_seconds) {
  int failed = 0;
  for (int each = 0; each < count && !failed; ++each) {
    uint64_t value = 0;
    const auto start = Clock::now();
    failed = read(&value, address, sizeof value);
    each_seconds[each] = since(start);
  }
  return failed;
}

/// Queries of an event that has happened; all of them together.
GPU_LOOPS_API int gpu_loop_queries(OnStream query, void* event, int count, double* seconds) {
  int failed = 0;
  const auto start = Clock::now();
  for (int each = 0; each < count && !failed; ++each) failed = query(event);
  *seconds = since(start);
  return failed;
}

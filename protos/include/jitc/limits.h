// How much of a kind one program may have on one GPU, so that it can exhaust neither the machine nor the
// service for others. All are far beyond what programs use; the call that goes over gets CUDA's own error.
//
// Used by: the API layer, where a call does not wait for the worker; the worker, for everything.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jitc::limits {

// A record each in every boundary, and on a GPU an object of the driver.
inline constexpr size_t kStreams = 16 << 10;
inline constexpr size_t kEvents = 1 << 20;
inline constexpr size_t kFunctions = 1 << 20;
/// Each may be a mapped file, and a process has 65,530 mappings.
inline constexpr size_t kModules = 16 << 10;
/// Each is shared memory that the service holds open, and while it is made a thread.
inline constexpr size_t kCommunicators = 1 << 10;
/// Each has memory of its own in the library.
inline constexpr size_t kBlasHandles = 4 << 10;
inline constexpr size_t kDnnPlans = 64 << 10;
/// Graphs and executable graphs, and the ops in all of them: they stay in the worker's memory.
inline constexpr size_t kGraphs = 64 << 10;
inline constexpr uint64_t kGraphBytes = uint64_t{1} << 30;

/// Threads on which the streams of the software device run: more run at once on no machine, and streams that
/// wait need none. A collective waits for other processes, so it does not count among them.
inline constexpr size_t kStreamThreads = 32;
inline constexpr size_t kCollectiveThreads = 512;

/// Bytes of results that wait to be read by the program, and with those that the device is still to give:
/// then the worker gives the device nothing more to do.
inline constexpr uint64_t kUnreadResults = 32 << 20;
inline constexpr uint64_t kPendingResults = 128 << 20;
/// Results since the last boundary: what is known of them takes memory until then.
inline constexpr size_t kResults = 4 << 20;

}  // namespace jitc::limits

// Limits on the things of a kind that one program may have on one GPU, so that it cannot exhaust the machine
// or the service for others. All limits are far beyond the use of programs; a call that exceeds one gets
// CUDA's own error.
//
// Used by: the API layer, for calls that do not wait for the worker; the worker, for all.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jitc::limits {

// Streams: each has a record in every boundary and, on a GPU, an object of the driver.
inline constexpr size_t kStreams = 16 << 10;
inline constexpr size_t kEvents = 1 << 20;
inline constexpr size_t kFunctions = 1 << 20;
/// Modules: each may be a mapped file, and a process has 65,530 mappings.
inline constexpr size_t kModules = 16 << 10;
/// Communicators: each needs shared memory that the service holds open and, while it is being made, a thread.
inline constexpr size_t kCommunicators = 1 << 10;
/// Handles: each takes memory in the library.
inline constexpr size_t kBlasHandles = 4 << 10;
inline constexpr size_t kDnnPlans = 64 << 10;
/// Graphs and executable graphs, and the ops in all of them: they stay in the worker's memory.
inline constexpr size_t kGraphs = 64 << 10;
inline constexpr uint64_t kGraphBytes = uint64_t{1} << 30;

/// Threads that run the streams of the software device. No machine runs more at once, and a stream that waits
/// needs none. Collectives, which wait for other processes, have threads of their own.
inline constexpr size_t kStreamThreads = 32;
inline constexpr size_t kCollectiveThreads = 512;

/// Bytes of results that the program has not read yet; and of these together with results that the device
/// still owes. Beyond either limit the worker submits nothing more to the device.
inline constexpr uint64_t kUnreadResults = 32 << 20;
inline constexpr uint64_t kPendingResults = 128 << 20;
/// Results since the last boundary: their descriptions take memory until the next one.
inline constexpr size_t kResults = 4 << 20;

}  // namespace jitc::limits

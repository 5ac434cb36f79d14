// Information beside the ops for a service that checks their order (`--check-order`): their call sites in the
// program, and completions that the program found without asking the worker.
//
// Promise: with any other service it costs a read of one variable.
// Called by: service/node.cpp (switches it on), session_client.cpp, client/order_notes.cpp, the API layer.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace jitc::session {

class Session;

namespace order_check {

inline std::atomic<bool> wanted{false};
/// Returns whether the check is on. Per process: all its sessions are at one service.
inline bool is_wanted() { return wanted.load(std::memory_order_relaxed); }

/// Sets the function that returns the calling thread's call site, called at every op that touches memory; the
/// text lives as long as the process, nullptr: unknown.
void set_site_source(const char* (*source)());
/// Returns the call site of the calling thread; never nullptr.
const char* current_site();

/// Completion of a stream up to an op.
struct Found {
  const Session* session;
  uint64_t stream, until;
};
/// Notes a completion seen by the calling thread. It is sent with the thread's next op that orders or touches
/// something, so that a thread that only polls (a watchdog) orders nothing.
void found_done(const Found& found);
/// Returns the completions that the calling thread has found since the last call.
std::vector<Found> take_found(const Session& session);

}  // namespace order_check

}  // namespace jitc::session

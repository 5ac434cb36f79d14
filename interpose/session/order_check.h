// What a service that checks the order of ops (`--check-order`) wants to know beside the ops: where in the
// program they come from, and what the program has found out without asking the worker.
//
// Promise: with any other service it costs a look at one variable.
// Called by: service/node.cpp (switches it on), session_client.cpp, client/order_notes.cpp, the API layer.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace jitc::session {

class Session;

namespace order_check {

inline std::atomic<bool> wanted{false};
/// Of the process: all its sessions are at one service.
inline bool is_wanted() { return wanted.load(std::memory_order_relaxed); }

/// Asked for the calling thread's place at every op that touches memory; the text lives as long as the
/// process, nullptr: unknown.
void set_site_source(const char* (*source)());
/// The place of the calling thread; never nullptr.
const char* current_site();

/// A stream is done up to an op.
struct Found {
  const Session* session;
  uint64_t stream, until;
};
/// The calling thread has seen that; it is told with the thread's next op that orders or touches something,
/// so that a thread that only looks (a watchdog) orders nothing.
void found_done(const Found& found);
/// What the calling thread has found of the session's streams since the last time.
std::vector<Found> take_found(const Session& session);

}  // namespace order_check

}  // namespace jitc::session

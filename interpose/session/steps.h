// The optimizer steps of the process, counted over all its devices.
//
// Called by: client_api.cpp (a step begins, ends), node.cpp (a session opens).
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "session.h"

namespace jitc::session {

/// The mutex is held while a step is submitted to the sessions and while a new session joins them, so every
/// session sees every step, in the same order.
struct Steps {
  std::mutex mutex;
  uint64_t begun = 0, passed = 0;
  static Steps& instance() {
    static auto& one = *new Steps;
    return one;
  }
  /// Whether a step of the calling thread is not the first thread's that has made one. Call with the mutex
  /// held.
  bool is_other_thread() {
    static std::atomic<uint64_t> threads{0};
    thread_local const uint64_t mine = ++threads;
    if (!first_thread) first_thread = mine;
    return first_thread != mine;
  }
  uint64_t first_thread = 0;
  /// Since a step has begun or ended.
  std::atomic<uint32_t> backward_passes{0};
  /// Lets a new session, which no other thread can use yet, begin with the boundary that the process passed
  /// last: so a boundary has one number in all sessions of a job, whenever they were opened. Call with the
  /// mutex held.
  void enter(Session& session) const {
    ops::Boundary op;
    op.boundary = passed;
    if (passed) session.submit(op);
  }
};

}  // namespace jitc::session

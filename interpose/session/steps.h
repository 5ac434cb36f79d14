// Optimizer steps of the process, counted over all its devices.
//
// Called by: client_api.cpp (a step begins, ends), node.cpp (a session opens).
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "session.h"

namespace jitc::session {

/// Optimizer steps. The mutex is held while a step is submitted to the sessions and while a new session joins
/// them, so every session sees every step, in the same order.
struct Steps {
  std::mutex mutex;
  uint64_t begun = 0, passed = 0;
  static Steps& instance() {
    static auto& one = *new Steps;
    return one;
  }
  /// Returns whether the calling thread's step belongs to another thread than the first that made one.
  /// Requires the mutex.
  bool is_other_thread() {
    static std::atomic<uint64_t> threads{0};
    thread_local const uint64_t mine = ++threads;
    if (!first_thread) first_thread = mine;
    return first_thread != mine;
  }
  uint64_t first_thread = 0;
  /// Backward passes since a step began or ended.
  std::atomic<uint32_t> backward_passes{0};
  /// Starts a new session, which no other thread can use yet, at the boundary that the process passed last:
  /// so a boundary has one number in all sessions of a job, regardless of their opening time. Requires the
  /// mutex.
  void enter(Session& session) const {
    ops::Boundary op;
    op.boundary = passed;
    if (passed) session.submit(op);
  }
};

}  // namespace jitc::session

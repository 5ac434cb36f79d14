// The optimizer steps of the process, counted over all its devices.
//
// Called by: client_api.cpp (a step begins, ends), node.cpp (a session opens).
#pragma once
#include <cstdint>
#include <mutex>

#include "session.h"

namespace jitc::runtime {

/// Optimizer steps of the process, on all its devices together. The mutex is held while a step is told to the
/// sessions and while a session is entered among them: each session sees every step, all in the same order.
struct Steps {
  std::mutex mutex;
  uint64_t begun = 0, passed = 0;
  static Steps& instance() {
    static auto& one = *new Steps;
    return one;
  }
  /// For a session that nobody else can use yet, with the mutex held: it begins with the boundary that the
  /// process passed last, so that a boundary has one number in all sessions of a job, whenever they were
  /// opened.
  void enter(Session& session) const {
    ops::Boundary op;
    op.boundary = passed;
    if (passed) session.submit(op);
  }
};

}  // namespace jitc::runtime

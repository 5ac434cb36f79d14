// Armed faults, waiting for their trigger.
//
// Promises: a fault fires once; an op costs one check of a flag when nothing is armed. Called by: OpIssuer at
// every op, and at named points from the back end's threads; Session (arm).
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitc/generated_ops.h"

namespace jitc {

/// A fault of control.proto.
struct Fault {
  std::string kind;
  uint64_t sequence = 0, operations = 0, boundary = 0, skip = 0;
  std::string phase;
  bool armed_at_boundary = false;
  uint64_t number = 0;  // the service's name for it

  /// Returns whether the device itself is to fail, not this process: Backend::inject.
  bool of_device() const;
  bool waits_for_collective() const;
  bool at_once() const {
    return !sequence && !operations && !boundary && phase.empty() && !armed_at_boundary;
  }
};

class Injector {
 public:
  /// Arms a fault. Throws Error if kind or phase is unknown.
  void arm(const Fault& fault);
  /// Returns and removes a fault that fires at this op. boundary: the newest one that this op comes after.
  std::optional<Fault> at_op(const ops::OpHeader& op, uint64_t boundary) {
    return armed_.load(std::memory_order_relaxed) ? match(op, "", boundary) : std::nullopt;
  }
  /// Returns a fault that fires at a point. phase: "collective", "copy" or "boundary".
  std::optional<Fault> at_point(const ops::OpHeader& op, std::string_view phase, uint64_t boundary) {
    return armed_.load(std::memory_order_relaxed) ? match(op, phase, boundary) : std::nullopt;
  }
  static void check(const Fault& fault);
  static std::string describe(const Fault& fault, const ops::OpHeader* op, uint64_t boundary);

 private:
  std::optional<Fault> match(const ops::OpHeader& op, std::string_view point, uint64_t boundary);
  std::atomic<bool> armed_{false};
  std::mutex mutex_;
  std::vector<Fault> faults_;
};

}  // namespace jitc

// Time spent in steps and boundaries, summed over a session's life, so that a slow step explains itself.
//
// Called by: StepGate, BoundaryMaker, LateBoundary and RowCopies (writing); Session::stats, from any thread.
// Promise: a phase that ends early is counted up to there.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace jitc {

/// Times of the phases, in nanoseconds.
struct BoundaryTimes {
  using Phase = std::atomic<uint64_t>;
  Phase drain{0};    // until the device has done all work, before a step and at a boundary
  Phase hash{0};     // of live blocks
  Phase copy{0};     // of live blocks to memory that outlives the worker
  Phase beside{0};   // copies of live blocks while the device did the next minibatch
  Phase record{0};   // into the journal
  Phase gather{0};   // until all ranks have reached the step
  Phase reserve{0};  // boundaries that are reserves, copies and all
  std::atomic<uint64_t> boundaries{0}, reserves{0};
  std::atomic<uint64_t> hashed{0}, copied{0};  // bytes of live blocks

  std::map<std::string, double> seconds() const {
    const auto of = [](const Phase& phase) { return static_cast<double>(phase) * 1e-9; };
    return {{"drain", of(drain)},   {"hash", of(hash)},     {"copy", of(copy)},
            {"beside", of(beside)}, {"record", of(record)}, {"gather", of(gather)}};
  }
};

/// Timer of a phase, from its construction to the end of its scope.
class PhaseTime {
 public:
  explicit PhaseTime(BoundaryTimes::Phase& phase) : phase_(phase) {}
  ~PhaseTime() {
    const auto taken = std::chrono::steady_clock::now() - start_;
    phase_ += static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count());
  }
  PhaseTime(const PhaseTime&) = delete;
  PhaseTime& operator=(const PhaseTime&) = delete;

 private:
  BoundaryTimes::Phase& phase_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace jitc

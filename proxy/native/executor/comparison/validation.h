// Whether a minibatch can be run again: what live blocks held right before an optimizer step, and what they
// hold there after everything that is not restored was poisoned and the minibatch replayed.
//
// Asked for by the coordinator (Validate); the session stops at the step's begin, is taken back like after a
// fault, and compares when it comes there again. Called by: StepGate (which holds it), Restorer and Session.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/device_memory.h"
#include "executor/boundary/boundary_state.h"
#include "tolerance.h"

namespace jitc {

struct Verdict {
  uint64_t step = 0;  // 0: none yet
  uint64_t blocks = 0, bytes = 0;
  std::vector<LiveRow> different;  // cannot be guaranteed
  /// Still poisoned in part: not all of it was written in the minibatch, so nobody relies on it.
  std::vector<LiveRow> unwritten;
  Tolerance::Seen results;  // that the program had read before the step, and that differed
  bool identical() const { return different.empty() && !results.results; }
  std::string text() const;
};

class Validation {
 public:
  explicit Validation(uint64_t step = 0) : step_(step) {}
  uint64_t step() const { return step_; }
  /// The first run is over: what comes now is its repetition.
  bool measured() const { return measured_; }
  void measure(const DeviceMemory& memory, const std::vector<LiveRow>& live);
  Verdict compare(const DeviceMemory& memory) const;

 private:
  uint64_t step_;
  bool measured_ = false;
  std::vector<LiveRow> before_;
};

/// What a session is asked for, and its newest verdict: at most one is under way. Any thread.
class Validations {
 public:
  /// False: the session is about to stop, or repeats a minibatch; ask again when it has gone on. Throws
  /// Error: too late.
  bool ask(uint64_t step, uint64_t begun, uint64_t boundary);
  /// For the session when it comes to that step: a request for it that comes from now on is refused as too
  /// late.
  std::optional<Validation> at(uint64_t step);
  /// Its first run is over. False: another one is wanted by now.
  bool measured(Validation due);
  void compared(Verdict verdict);
  bool repeats() const;
  /// That is waited for; 0: none.
  uint64_t step() const;
  Verdict newest() const;

 private:
  mutable std::mutex mutex_;
  Validation due_;
  Verdict newest_;
  uint64_t looked_up_ = 0;  // the newest step that at() was asked for
};

}  // namespace jitc

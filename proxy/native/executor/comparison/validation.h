// Validation that a minibatch can be run again: compares what live blocks held right before an optimizer step
// with what they hold there after all unrestored memory was poisoned and the minibatch replayed.
//
// The coordinator asks for it (Validate); the session stops at the step's begin, rolls back like after a
// fault, and compares when it is there again. Called by: StepGate (which holds it), Restorer and Session.
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
  /// Blocks still poisoned in part: not all of them was written in the minibatch, so no op relies on it.
  std::vector<LiveRow> unwritten;
  Tolerance::Seen results;  // that the program had read before the step, and that differed
  bool identical() const { return different.empty() && !results.results; }
  std::string text() const;
};

class Validation {
 public:
  explicit Validation(uint64_t step = 0) : step_(step) {}
  uint64_t step() const { return step_; }
  /// Returns whether the first run is over: the next one is its repetition.
  bool measured() const { return measured_; }
  void measure(const DeviceMemory& memory, const std::vector<LiveRow>& live);
  Verdict compare(const DeviceMemory& memory) const;

 private:
  uint64_t step_;
  bool measured_ = false;
  std::vector<LiveRow> before_;
};

/// A session's requested validation, of which at most one is in progress, and newest verdict. Any thread.
class Validations {
 public:
  /// Asks for a validation. Returns false if the session is about to stop, or repeats a minibatch: ask again
  /// once it continues. Throws Error if it is too late.
  bool ask(uint64_t step, uint64_t begun, uint64_t boundary);
  /// Returns the validation due at a step that the session has reached; a later request for that step is
  /// refused.
  std::optional<Validation> at(uint64_t step);
  /// Ends its first run. Returns false if another one has been asked for by now.
  bool measured(Validation due);
  void compared(Verdict verdict);
  bool repeats() const;
  /// Returns the step that is waited for; 0: none.
  uint64_t step() const;
  Verdict newest() const;

 private:
  mutable std::mutex mutex_;
  Validation due_;
  Verdict newest_;
  uint64_t looked_up_ = 0;  // the newest step that at() was asked for
};

}  // namespace jitc

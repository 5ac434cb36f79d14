// Reports of a back end: results, progress, faults, races.
//
// Called by: the back ends. Implemented by Session.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "jitc/generated_ops.h"

namespace jitc {

class ProgressDoorbell;

/// Two ops of a session that touch the same bytes, one of them writing, with no order between them.
struct Race {
  struct Side {
    std::string name, operator_name, place;  // of the op, of PyTorch's operator, call site; may be empty
    uint64_t stream = 0, sequence = 0;
    bool writes = false;
  };
  Side first, second;  // as they were given
  uint64_t address = 0, bytes = 0;
};

/// All functions may be called from any thread and never block for long.
class ExecutionSink {
 public:
  virtual ~ExecutionSink() = default;
  /// Reports an op that waits: status (cudaError_t or kStatusOperator) and result. Exactly once per
  /// execution.
  virtual void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) = 0;
  /// Reports that the stream has executed everything up to sequence.
  virtual void progress(uint64_t stream, uint64_t sequence) = 0;
  /// Returns the doorbell that rings when the program waits for progress without an op that asks for it.
  virtual ProgressDoorbell& progress_doorbell() = 0;
  /// Reports a sticky fault: the device is unusable from this op on. Nothing more is executed until reset.
  virtual void fault(uint64_t sequence, uint32_t status, std::string_view cause,
                     std::string_view message) = 0;
  /// Marks named points at which injected faults can fire (may not return). phase: "copy", "collective".
  virtual void injection_point(const ops::OpHeader& op, std::string_view phase) = 0;
  /// Returns whether the program already has the op's result, so that it is only compared: memory of the
  /// program must not be written again.
  virtual bool delivered(uint64_t sequence) const = 0;
  /// Reports a race, if the device checks the order of ops: each pair of call sites once.
  virtual void race(const Race&) {}
};

}  // namespace jitc

// Converts the ops in which clients sent cuBLAS and cuBLASLt calls before library_call into its form.
//
// Promise: such an op has the same effect and the same answer as before. Throws OpError. Called by:
// BlasHandlers; nothing else knows the former encoding.
#pragma once
#include "lt.h"

namespace jitc::cuda {

class OldCall {
 public:
  using Payload = std::span<const std::byte>;
  OldCall(const ops::BlasCall& op, Payload payload);
  OldCall(const ops::LtHeuristic& op, Payload payload);
  OldCall(const ops::LtMatmul& op, Payload payload);
  Lt::Request request() const;

 private:
  /// Writes objects with their attributes.
  void write_objects(Payload description, uint32_t objects);

  CallWriter written_;
  uint32_t objects_ = 0;
  size_t described_ = 0;
};

/// Returns the outcome of an lt_heuristic that requests no algorithm, as cuBLASLt has it.
CallOutcome nothing_requested();
/// Returns the outcome of an lt_heuristic in the form of its answer.
std::vector<std::byte> old_answer(const CallOutcome& outcome);

}  // namespace jitc::cuda

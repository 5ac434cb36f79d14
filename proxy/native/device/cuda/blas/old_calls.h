// The ops in which clients sent cuBLAS and cuBLASLt calls before there was library_call: written anew in its
// form.
//
// Promise: what such an op asked for is asked for as ever, and answered as ever. Throws OpError. Called by:
// BlasHandlers; nothing else knows the form of before.
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
  /// Objects with their attributes.
  void write_objects(Payload description, uint32_t objects);

  CallWriter written_;
  uint32_t objects_ = 0;
  size_t described_ = 0;
};

/// What an lt_heuristic that wants no algorithm comes to, as cuBLASLt has it.
CallOutcome nothing_requested();
/// The outcome of an lt_heuristic as it is answered.
std::vector<std::byte> old_answer(const CallOutcome& outcome);

}  // namespace jitc::cuda

// Handlers of ops that the executor has already carried out: only their stream's progress must pass them.
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include "handlers.h"

namespace jitc::device {

/// Handlers for one device's Issuer, whose completed_synchronously(op) notes such an op.
template <class Issuer>
class ControlHandlers {
 public:
  explicit ControlHandlers(const Issuer& issuer) : issuer_(issuer) {}

 private:
  template <class Op>
  void no_op(const Op& op) {
    issuer_.completed_synchronously(op.header);
  }

  const Issuer& issuer_;

 public:
  using Handled =
      HandlerList<&ControlHandlers::no_op<ops::StepBegin>, &ControlHandlers::no_op<ops::Boundary>,
                  &ControlHandlers::no_op<ops::LiveSet>, &ControlHandlers::no_op<ops::ImageQuery>,
                  &ControlHandlers::no_op<ops::ImagePart>, &ControlHandlers::no_op<ops::OrderSite>,
                  &ControlHandlers::no_op<ops::OrderKnown>, &ControlHandlers::no_op<ops::OrderHost>,
                  &ControlHandlers::no_op<ops::OrderUnasked>>;
};

}  // namespace jitc::device

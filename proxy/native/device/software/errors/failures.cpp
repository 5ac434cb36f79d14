// See failures.h.
#include "failures.h"

#include <span>
#include <string_view>

#include "device/common/handlers.h"
#include "device/common/operands.h"
#include "device/device_assert.h"

namespace jitc::software {

void Failures::fail(const ops::OpHeader& op, const OpError& error) {
  const ops::OpInfo* const info = ops::find(op.op);
  // An operator's message reaches the program unchanged.
  const bool assertion = error.cause == std::string_view(kDeviceAssert);
  const bool verbatim = assertion || error.cause == std::string_view("operator-error");
  const std::string message = verbatim ? error.message : about(op, info, error.message);
  const bool sticky = error.cause == std::string_view("sticky-error");
  if (info && info->waits && !sticky && !assertion)
    return sink_.result(op.sequence, error.status, std::as_bytes(std::span(message)));
  state_.fault(op.sequence, error.status, error.cause, message);
}

}  // namespace jitc::software

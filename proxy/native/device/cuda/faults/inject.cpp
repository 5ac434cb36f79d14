// Faults on request, as real ones happen. See device.h, harm.h.
//
// A hung collective is one that a rank has left: it aborts the communicator, so that the others wait for a
// rank that does not come, and its own stream stands still in the collective's place. The fence ends both.
#include "base/operands.h"
#include "device/cuda/device/device.h"

namespace jitc::cuda {

std::string Device::cannot_inject(std::string_view kind) const {
  const bool known = kind == "illegal-access" || kind == "endless-kernel" || kind == "hung-collective";
  return known ? std::string() : Backend::cannot_inject(kind);
}

bool Device::inject(std::string_view kind, const ops::OpHeader& op, std::string& error) {
  error = cannot_inject(kind);
  if (!error.empty()) return false;
  const std::lock_guard lock(mutex_);
  if (!running()) return error = "the device is at fault already", false;
  try {
    check("cuCtxSetCurrent", context_->bind());
    harm(kind, op);
  } catch (const OpError& failure) {
    error = failure.message;
  } catch (const Abandoned&) {
    error = "a fence came first";
  }
  return error.empty();
}

void Device::harm(std::string_view kind, const ops::OpHeader& op) {
  const auto found = streams_.find(op.stream);
  Stream& stream = found == streams_.end() ? *legacy_ : *found->second;
  if (!harm_) harm_ = std::make_unique<Harm>(context_, options_.libraries.path("nvrtc"));
  if (kind == "hung-collective") return desert(stream, as<ops::Collective>(op));
  if (kind == "illegal-access")
    harm_->access_illegally(stream.own());
  else
    harm_->never_end(stream.own());
  submitted(stream, op);  // found out at this op, also when it needs nothing of its stream itself
}

/// What the others still need of this rank runs first, so that they all stop at this collective.
void Device::desert(Stream& stream, const ops::Collective& op) {
  if (stream.diverted()) refuse_value("the collective is being captured into a graph");
  come_to_rest();
  communicators_->desert(op);
  harm_->stand_still(stream.own());
  deserted_ = op.header.sequence;
}

}  // namespace jitc::cuda

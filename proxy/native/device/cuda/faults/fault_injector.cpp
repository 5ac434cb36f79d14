// See fault_injector.h.
#include "fault_injector.h"

#include "base/operands.h"

namespace jitc::cuda {

bool FaultInjector::knows(std::string_view kind) {
  return kind == "illegal-access" || kind == "endless-kernel" || kind == "hung-collective" ||
         kind == "cut-link";
}

void FaultInjector::inject(std::string_view kind, const ops::OpHeader& op) {
  Stream* const found = streams_.find(op.stream);
  Stream& stream = found ? *found : streams_.legacy();
  if (!kernels_) kernels_ = std::make_unique<FaultKernels>(issuer_.context(), nvrtc_path_);
  made_ = kernels_.get();
  if (kind == "cut-link") return cut_link(stream, as<ops::Collective>(op));
  if (kind == "hung-collective") return hang_collective(stream, as<ops::Collective>(op));
  if (kind == "illegal-access")
    kernels_->access_illegally(stream.own());
  else
    kernels_->never_end(stream.own());
  issuer_.submitted(stream, op);  // reported at this op, also if it needs nothing of its stream
}

/// Runs what the others still need of this rank first, so that they all stop at this collective. Its
/// communicator stays: if ranks talk over sockets, an abort informs the others, and nothing would hang.
void FaultInjector::hang_collective(Stream& stream, const ops::Collective& op) {
  if (stream.diverted()) refuse_value("the collective is being captured into a graph");
  issuer_.drain();
  kernels_->stand_still(stream.own());
  collectives_.skip(op.header.sequence);
}

/// Fails as NCCL does when a peer is unreachable: the communicator is unusable, and that is reported.
void FaultInjector::cut_link(const Stream& stream, const ops::Collective& op) {
  if (stream.diverted()) refuse_value("the collective is being captured into a graph");
  issuer_.drain();
  collectives_.communicators().cut(op);
  collectives_.skip(op.header.sequence);
  collectives_.communicator_fault(op.header.sequence, kUnknown, "collective-error",
                                  "the connection to the other ranks is cut (injected)");
}

void FaultInjector::release() {
  if (FaultKernels* const kernels = made_) kernels->release();
}

}  // namespace jitc::cuda

// Placing of communicators and collectives. See device.h, communicators.h.
#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"

namespace jitc::cuda {

void Device::place_communicator_create(const ops::OpHeader& op) {
  communicators_->create(as<ops::CommunicatorCreate>(op));
  done_in_place(op);
}

void Device::place_communicator_split(const ops::OpHeader& op) {
  communicators_->split(as<ops::CommunicatorSplit>(op));
  done_in_place(op);
}

void Device::place_communicator_destroy(const ops::OpHeader& op) {
  communicators_->destroy(as<ops::CommunicatorDestroy>(op));
  done_in_place(op);
}

void Device::place_collective(const ops::OpHeader& op) {
  Stream& stream = stream_of(op);
  if (op.sequence == deserted_) return submitted(stream, op);
  if (Capture* const capture = capture_of(stream)) capture->add_collectives();
  communicators_->collective(as<ops::Collective>(op), stream.real());
  submitted(stream, op);
}

// -- what communicators need ---------------------------------------------------------------------------

void Device::enter_context() { check("cuCtxSetCurrent", context_->bind()); }

bool Device::allocated(uint64_t address, uint64_t bytes, uint64_t) const {
  return memory_.contains(address, bytes);
}

/// The mutex is let go: the completer must be able to look after the GPU, and a fence to come.
void Device::wait_begins() {
  mark_all();
  mutex_.unlock();
}

void Device::wait_ends() { mutex_.lock(); }

void Device::communicator_fault(uint64_t sequence, uint32_t status, const char* cause,
                                const std::string& message) {
  fault(sequence, {status, cause, "a communicator: " + message});
}

}  // namespace jitc::cuda

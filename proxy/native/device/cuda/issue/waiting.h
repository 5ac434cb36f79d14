// Wait for something else than this device: deferred work is submitted, and other threads may take the
// device's mutex meanwhile.
//
// Called by: waits with that mutex held, on the dispatcher's thread. Host: an Issuer, or a stand-in for one
// (CommunicatorHost).
#pragma once

namespace jitc::cuda {

/// Wait that lasts as long as this object.
template <class Host>
class Waiting {
 public:
  explicit Waiting(Host& host) : host_(host) { host_.wait_begins(); }
  ~Waiting() { host_.wait_ends(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Host& host_;
};

}  // namespace jitc::cuda

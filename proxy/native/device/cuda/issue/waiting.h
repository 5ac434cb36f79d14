// A wait for something else than this device: what has been put off is due, and others may have the device's
// mutex meanwhile.
//
// Called by: whoever waits with that mutex held, on the dispatcher's thread. Host: an Issuer, or who stands
// for one (CommunicatorHost).
#pragma once

namespace jitc::cuda {

/// As long as it lives.
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

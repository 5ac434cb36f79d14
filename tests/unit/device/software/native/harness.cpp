// See harness.h.
#include "harness.h"

#include "device/devices.h"

namespace jitc::test {

Session::Session(const Options& options) : OpClient(options.slot) {
  static Segments no_segments;
  static NoImages no_images;
  BackendOptions wanted{base, kRange, options.limit, 1, {}, Libraries({{"operators", options.operators}})};
  wanted.shuffle = shuffle_of_environment(options.hang_seconds);
  wanted.given.hang_seconds = options.hang_seconds;
  wanted.given.check_order = options.check_order;
  wanted.pinned = options.pinned;
  std::string error;
  backend = make_software_backend(wanted, sink, options.segments ? *options.segments : no_segments, no_images,
                                  error);
  if (!backend) throw Failure{error};
}

}  // namespace jitc::test

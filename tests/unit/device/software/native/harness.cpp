// See harness.h.
#include "harness.h"

#include "device/devices.h"

namespace jitc::test {
namespace {
CommunicatorSegments& segments_of(const Options& options) {
  if (options.segments) return *options.segments;
  static Segments none;
  return none;
}
}  // namespace

Session::Session(const Options& options) : OpClient(options.slot) {
  static NoImages no_images;
  BackendOptions wanted{base, kRange, options.limit, 1, {}, Libraries({{"operators", options.operators}})};
  wanted.shuffle = shuffle_of_environment(options.hang_seconds);
  wanted.given.hang_seconds = options.hang_seconds;
  wanted.given.check_order = options.check_order;
  wanted.pinned = options.pinned;
  std::string error;
  backend = make_software_backend(wanted, sink, segments_of(options), no_images, error);
  if (!backend) throw Failure{error};
}

}  // namespace jitc::test

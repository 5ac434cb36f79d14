// See harness.h.
#include "harness.h"

#include "device/devices.h"

namespace jitc::test {

std::span<const std::byte> Images::image(const ImageHash& hash, uint64_t bytes, std::string& error) {
  const auto found = known.find(hash);
  if (found != known.end() && found->second.size() == bytes) return found->second;
  error = "the image is not there";
  return {};
}

Session::Session(CommunicatorSegments* segments, uint64_t slot, uint64_t limit, const std::string& operators,
                 PinnedRange pinned, double hang_seconds, std::shared_ptr<MemoryBudget> budget)
    : Client(slot) {
  BackendOptions options{base, kRange, limit, 1, {}, Libraries({{"operators", operators}})};
  options.shuffle = shuffle_of_environment(hang_seconds);
  options.pinned = pinned;
  options.given.hang_seconds = hang_seconds;
  options.budget = std::move(budget);
  std::string error;
  backend = make_software_backend(options, sink, segments ? *segments : no_segments, images, error);
  if (!backend) throw Failure{error};
}

Session::~Session() { backend.reset(); }

}  // namespace jitc::test

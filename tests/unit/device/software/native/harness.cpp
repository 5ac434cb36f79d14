// See harness.h.
#include "harness.h"

namespace jitc::test {

Session::Session(CommunicatorSegments* segments, uint64_t slot, uint64_t limit, const std::string& operators,
                 PinnedRange pinned, double hang_seconds, std::shared_ptr<MemoryBudget> budget)
    : Client(slot) {
  BackendOptions options{base, kRange, limit, 1, 0, Libraries({{"operators", operators}})};
  options.shuffle = shuffle_of_environment(hang_seconds);
  options.pinned = pinned;
  options.hang_seconds = hang_seconds;
  options.budget = std::move(budget);
  std::string error;
  backend = make_software_backend(options, sink, segments ? *segments : no_segments, error);
  if (!backend) throw Failure{error};
}

Session::~Session() { backend.reset(); }

}  // namespace jitc::test

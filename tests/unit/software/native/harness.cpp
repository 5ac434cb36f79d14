// See harness.h.
#include "harness.h"

namespace jitc::test {

Session::Session(Rendezvous* rendezvous, uint64_t slot, uint64_t limit, const std::string& operators,
                 PinnedRange pinned, double hang_seconds, std::shared_ptr<MemoryBudget> budget)
    : Client(slot) {
  BackendOptions options{};
  options.address_base = base;
  options.address_bytes = kRange;
  options.memory_limit = limit;
  options.threads = 1;
  options.libraries = Libraries({{"operators", operators}});
  options.shuffle = shuffle_of_environment(hang_seconds);
  options.pinned = pinned;
  options.hang_seconds = hang_seconds;
  options.budget = std::move(budget);
  std::string error;
  backend = make_software_backend(options, sink, rendezvous ? *rendezvous : no_segments, error);
  if (!backend) throw Failure{error};
}

Session::~Session() { backend.reset(); }

}  // namespace jitc::test

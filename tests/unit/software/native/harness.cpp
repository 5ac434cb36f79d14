// See harness.h.
#include "harness.h"

namespace jitc::test {

Session::Session(Rendezvous* rendezvous, uint64_t slot, uint64_t limit, const std::string& operators,
                 PinnedRange pinned)
    : Client(slot) {
  BackendOptions options{base, kRange, limit, 1, operators};
  options.pinned = pinned;
  std::string error;
  backend = make_software_backend(options, sink, rendezvous ? *rendezvous : no_segments, error);
  if (!backend) throw Failure{error};
}

Session::~Session() { backend.reset(); }

}  // namespace jitc::test

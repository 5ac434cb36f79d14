// Handlers of communicators, which they make and destroy, and of collectives, which the op's stream runs.
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include "communicators.h"
#include "device/common/handlers.h"
#include "device/software/issue/issuer.h"

namespace jitc::software {

class CollectiveHandlers {
 public:
  /// crew: used once there are collectives.
  CollectiveHandlers(const Issuer& issuer, const Memory& memory, const device::Residency& residency,
                     Crew& crew, const Communicators::Host& host)
      : issuer_(issuer), memory_(memory), residency_(residency), crew_(crew), communicators_(host) {}
  Communicators& communicators() { return communicators_; }
  const Communicators& communicators() const { return communicators_; }

 private:
  void create(const ops::CommunicatorCreate& op);
  void split(const ops::CommunicatorSplit& op);
  void destroy(const ops::CommunicatorDestroy& op);
  void end(const ops::CommunicatorAbort& op);
  void run(const ops::Collective& op);

  const Issuer& issuer_;
  const Memory& memory_;
  const device::Residency& residency_;
  Crew& crew_;
  Communicators communicators_;

 public:
  using Handled =
      HandlerList<&CollectiveHandlers::create, &CollectiveHandlers::split, &CollectiveHandlers::destroy,
                  &CollectiveHandlers::end, &CollectiveHandlers::run>;
};

}  // namespace jitc::software

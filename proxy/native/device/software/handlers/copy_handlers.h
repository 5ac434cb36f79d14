// Handlers of copies and fills: the op's stream does them (copy.h).
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include <functional>

#include "device/backend_options.h"
#include "device/common/handlers.h"
#include "device/software/issue/issuer.h"
#include "device/software/memory/memory.h"

namespace jitc::software {

class CopyHandlers {
 public:
  CopyHandlers(const Issuer& issuer, const Memory& memory, PinnedRange pinned)
      : issuer_(issuer), memory_(memory), pinned_(pinned) {}

 private:
  /// Queues the work; a short one may run at once.
  void queue(const ops::OpHeader& op, uint64_t bytes, std::function<void()> work);
  void h2d(const ops::CopyH2d& op);
  void d2h(const ops::CopyD2h& op);
  void d2h_pinned(const ops::CopyD2hPinned& op);
  void d2d(const ops::CopyD2d& op);
  void pitched(const ops::Copy2d& op);
  void sliced(const ops::Copy3d& op);
  void fill(const ops::Fill& op);

  const Issuer& issuer_;
  const Memory& memory_;
  const PinnedRange pinned_;  // shared with the program

 public:
  using Handled =
      HandlerList<&CopyHandlers::h2d, &CopyHandlers::d2h, &CopyHandlers::d2h_pinned, &CopyHandlers::d2d,
                  &CopyHandlers::pitched, &CopyHandlers::sliced, &CopyHandlers::fill>;
};

}  // namespace jitc::software

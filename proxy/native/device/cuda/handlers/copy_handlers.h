// Handlers of copies and fills. Sizes come from the client: each product and sum is checked before use, each
// range before the driver sees it.
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include "device/backend_options.h"
#include "device/common/handlers.h"
#include "device/cuda/issue/issuer.h"

namespace jitc::cuda {

class CopyHandlers {
 public:
  CopyHandlers(Issuer& issuer, CompletionPoller& poller, PinnedRange pinned)
      : issuer_(issuer), poller_(poller), pinned_(pinned) {}

 private:
  void h2d(const ops::CopyH2d& op);
  void d2h(const ops::CopyD2h& op);
  void d2h_pinned(const ops::CopyD2hPinned& op);
  void d2d(const ops::CopyD2d& op);
  void pitched(const ops::Copy2d& op);
  void sliced(const ops::Copy3d& op);
  void fill(const ops::Fill& op);
  /// Copies the op's rows, each at its pitch. Copy: Copy2d or Copy3d.
  template <class Copy>
  void copy_rows(uint64_t to, uint64_t from, const Copy& op, const Stream& stream);

  Issuer& issuer_;
  CompletionPoller& poller_;
  const PinnedRange pinned_;  // shared with the program

 public:
  using Handled =
      HandlerList<&CopyHandlers::h2d, &CopyHandlers::d2h, &CopyHandlers::d2h_pinned, &CopyHandlers::d2d,
                  &CopyHandlers::pitched, &CopyHandlers::sliced, &CopyHandlers::fill>;
};

}  // namespace jitc::cuda

// Handlers of streams: create, destroy, wait. Synchronizing never blocks: it is a task that answers.
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include "device/common/handlers.h"
#include "device/software/issue/issuer.h"

namespace jitc::software {

class StreamHandlers {
 public:
  StreamHandlers(const Issuer& issuer, Streams& streams) : issuer_(issuer), streams_(streams) {}

 private:
  void create(const ops::StreamCreate& op);
  void destroy(const ops::StreamDestroy& op);
  void synchronize(const ops::StreamSynchronize& op);
  void synchronize_all(const ops::DeviceSynchronize& op);

  const Issuer& issuer_;
  Streams& streams_;

 public:
  using Handled = HandlerList<&StreamHandlers::create, &StreamHandlers::destroy, &StreamHandlers::synchronize,
                              &StreamHandlers::synchronize_all>;
};

}  // namespace jitc::software

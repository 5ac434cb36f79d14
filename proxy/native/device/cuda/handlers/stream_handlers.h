// Handlers of streams: create, destroy, wait. Synchronizing never blocks: it is a mark and a result.
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include <vector>

#include "device/common/handlers.h"
#include "device/cuda/issue/issuer.h"

namespace jitc::cuda {

class StreamHandlers {
 public:
  StreamHandlers(const Issuer& issuer, Streams& streams, CompletionPoller& poller)
      : issuer_(issuer), streams_(streams), poller_(poller) {}

 private:
  void create(const ops::StreamCreate& op);
  void destroy(const ops::StreamDestroy& op);
  void synchronize(const ops::StreamSynchronize& op);
  void synchronize_all(const ops::DeviceSynchronize& op);
  void answer_after(std::vector<Stream*> streams, const ops::OpHeader& op);

  const Issuer& issuer_;
  Streams& streams_;
  CompletionPoller& poller_;

 public:
  using Handled = HandlerList<&StreamHandlers::create, &StreamHandlers::destroy, &StreamHandlers::synchronize,
                              &StreamHandlers::synchronize_all>;
};

}  // namespace jitc::cuda

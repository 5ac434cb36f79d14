// Notes that accompany the ops of one session if the service checks their order (session/order_check.h).
//
// Called by: session_client.cpp, with the session's lock, so that nothing comes between a note and its op.
#pragma once
#include "send_queue.h"

namespace jitc::session {

class Session;

class OrderNotes {
 public:
  /// Queues the information needed before the op.
  void before(const Session& session, const ops::OpHeader& op, SendQueue& queue);

 private:
  void tell_site(const ops::OpHeader& op, SendQueue& queue);
  const char* told_ = nullptr;  // call site last sent to the worker
};

}  // namespace jitc::session

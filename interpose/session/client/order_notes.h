// The notes that go with the ops of one session where the service checks their order (session/order_check.h).
//
// Called by: session_client.cpp, with the session's lock, so that nothing comes between a note and its op.
#pragma once
#include "send_queue.h"

namespace jitc::session {

class Session;

class OrderNotes {
 public:
  /// Puts what is to be known before the op into the queue.
  void before(const Session& session, const ops::OpHeader& op, SendQueue& queue);

 private:
  void tell_site(const ops::OpHeader& op, SendQueue& queue);
  const char* told_ = nullptr;  // the place that the worker goes by
};

}  // namespace jitc::session

// Patience with a service that does not answer a program which begins: it may be about to be started again,
// or to be replaced, or systemd is starting it.
//
// Called by: node.cpp, before anything else is asked of the service. Promises: where no service is, none was,
// and nothing listens, there is no wait; any wait ends.
#pragma once
#include <chrono>
#include <string>

#include "service_rpc.h"

namespace jitc::session {

class Presence {
 public:
  explicit Presence(std::string socket) : socket_(std::move(socket)) {}
  /// Returns whether to ask again after this answer, a moment later: a keeper waits for the next service, its
  /// folder shows that one is just beginning, or a socket takes connections for it. Writes a line when that
  /// takes long.
  bool expected(const Answer& answer);

 private:
  using Clock = std::chrono::steady_clock;

  /// Returns how long to wait in all, as far as this answer shows; 0: not at all.
  std::chrono::seconds patience(const Answer& answer) const;

  std::string socket_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace jitc::session

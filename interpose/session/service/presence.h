// Patience with a service that does not answer a program which begins: it may be about to be started again,
// or to be replaced.
//
// Called by: node.cpp, before anything else is asked of the service. Promise: where no service is, and none
// was, there is no wait.
#pragma once
#include <chrono>
#include <string>

#include "service_rpc.h"

namespace jitc::session {

class Presence {
 public:
  explicit Presence(std::string socket) : socket_(std::move(socket)) {}
  /// Returns whether to ask again after this answer, a moment later: a keeper waits for the next service, or
  /// its folder shows that one is just beginning. Writes a line when that takes long.
  bool expected(const Answer& answer);

 private:
  using Clock = std::chrono::steady_clock;

  std::string socket_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace jitc::session

// See presence.h. The folder beside the socket is the service's (proxy/keeper/claim/socket_lock.py).
#include "presence.h"

#include <cerrno>
#include <thread>

#include "keeper_connection.h"
#include "session/environment.h"
#include "session/message.h"

namespace jitc::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kBetweenTries{50};
constexpr seconds kReportAfter{3};
// Without a keeper: for a service that begins anew.
constexpr seconds kBeginning{10};

}  // namespace

bool Presence::expected(const Answer& answer) {
  const seconds most = patience(answer);
  const auto waited = Clock::now() - since_;
  if (waited >= most) return false;
  if (waited >= kReportAfter)
    message_once("the service at " + socket_ + " does not answer; it is waited for up to " +
                 std::to_string(most.count()) + " s (JITC_SERVICE_TIMEOUT)");
  std::this_thread::sleep_for(kBetweenTries);
  return true;
}

seconds Presence::patience(const Answer& answer) const {
  const seconds longest(service_timeout_seconds());
  // The socket takes connections, or its queue is full of them. It may be systemd's, which is starting the
  // service: keeper and folder follow when the service has found its GPUs.
  if (answer.is(Rpc::deadline_exceeded) || answer.status == -EAGAIN) return longest;
  if (answer.hopeless() || !(answer.absent() || answer.is(Rpc::unavailable)) || !has_folder(socket_))
    return seconds(0);
  KeeperConnection keeper;
  return keeper.open(socket_) == 0 ? longest : kBeginning;
}

}  // namespace jitc::session

// See presence.h. The folder beside the socket is the service's (proxy/keeper/claim/socket_lock.py).
#include "presence.h"

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
  if (answer.hopeless() || !(answer.absent() || answer.is(Rpc::unavailable)) || !has_folder(socket_))
    return false;
  KeeperConnection keeper;
  const bool kept = keeper.open(socket_) == 0;
  const auto waited = Clock::now() - since_;
  const seconds most = kept ? seconds(service_timeout_seconds()) : kBeginning;
  if (waited >= most) return false;
  if (waited >= kReportAfter)
    message_once("the service at " + socket_ + " does not answer; it is waited for up to " +
                 std::to_string(most.count()) + " s (JITC_SERVICE_TIMEOUT)");
  std::this_thread::sleep_for(kBetweenTries);
  return true;
}

}  // namespace jitc::session

// See presence.h. The folder beside the socket is the service's (proxy/keeper/claim/socket_lock.py).
#include "presence.h"

#include <sys/stat.h>
#include <unistd.h>

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

/// Returns whether nobody but this user and root can have made the socket: a stranger's, where all may make
/// one, holds no program up.
bool is_ours_or_root_s(const std::string& socket) {
  struct stat found{};
  return ::stat(socket.c_str(), &found) == 0 && (found.st_uid == 0 || found.st_uid == ::geteuid());
}

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
  if (answer.is(Rpc::deadline_exceeded) || answer.status == -EAGAIN)
    return is_ours_or_root_s(socket_) ? longest : seconds(0);
  if (answer.hopeless() || !(answer.absent() || answer.is(Rpc::unavailable)) || !has_folder(socket_))
    return seconds(0);
  KeeperConnection keeper;
  return keeper.open(socket_) == 0 ? longest : kBeginning;
}

}  // namespace jitc::session

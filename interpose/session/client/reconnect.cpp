// Search of a session for its worker: when it opens, and again whenever the connection is lost.
//
// The service says where the session is served; while it recovers the session, it answers "ask again". The
// program sees none of this: its threads continue queueing ops and waiting for results. Only two things end
// the session: a refusal, and no service for JITC_SERVICE_TIMEOUT seconds.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "session/environment.h"
#include "session/message.h"
#include "session/order_check.h"
#include "session/process.h"
#include "session/service/pinned_file.h"
#include "session_client.h"

namespace jitc::session {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kAskMs = 10'000;
constexpr uint32_t kDetachMs = 2'000;
constexpr seconds kReportEvery{30};
// Refusals because another connection is open: the worker may notice late that our old one is closed.
constexpr uint32_t kContestedTries = 12;

/// Returns the pause before try number n: none, 10 ms, 20 ms, ... 1 s.
milliseconds pause(uint32_t tries) {
  return tries == 0 ? milliseconds(0)
                    : milliseconds(std::min<int64_t>(1000, int64_t{5} << std::min(tries, 8u)));
}

bool among(int status, std::initializer_list<Rpc> codes) {
  return std::any_of(codes.begin(), codes.end(),
                     [status](Rpc code) { return static_cast<int>(code) == status; });
}

bool temporary(const Answer& answer) {
  constexpr int kAborted = 10;
  return among(answer.status, {Rpc::unavailable, Rpc::cancelled}) || answer.status == kAborted;
}

/// Returns whether the service failed internally, or is another program: no refusal and no "ask again".
bool unclear(const Answer& answer) {
  constexpr int kUnknownCode = 2, kInternal = 13;
  return answer.status == kUnknownCode || answer.status == kInternal;
}

/// Returns one number per kind of end (docs/guarantees.md). first: the session has not been opened yet.
uint32_t error_of(bool first, const Answer& answer) {
  const bool given_up = answer.is(Rpc::failed_precondition) || answer.is(Rpc::not_found);
  if (!first) return given_up ? kDevicesUnavailable : kUnknown;
  if (answer.is(Rpc::not_found)) return kInvalidDevice;
  if (answer.is(Rpc::resource_exhausted)) return kMemoryAllocation;
  if (answer.is(Rpc::failed_precondition)) return kInitializationError;
  return kUnknown;
}

/// Asks where the token's session is served; without a token: for a new one. The keeper must know this
/// process; when it has ended, and all workers with it, the next one learns of the process here.
Answer ask(const std::string& socket, uint32_t gpu, const std::string& token, KeeperConnection& keeper,
           const Variables& variables, Attachment* out) {
  if (!keeper.stands()) {
    if (const int error = keeper.open(socket); error != 0) return {error, std::strerror(-error), true};
  }
  return attach(socket, gpu, token, keeper.ticket(), token.empty() ? variables : Variables{}, kAskMs, out);
}

/// Requests the memory of a new session from the keeper.
void take_memory(KeeperConnection& keeper, PinnedRegion* region) {
  if (region->bytes > 0) region->fd = keeper.memory(region->token);
  if (region->fd < 0 || is_ours(*region)) return;
  ::close(region->fd);
  region->fd = -1;
}

}  // namespace

struct Patience {
  Clock::time_point since = Clock::now(), reported = since;
  Clock::time_point absent_since = Clock::time_point::max();
  uint32_t tries = 0;

  /// Writes at most one line every 30 s.
  void report(uint32_t gpu, const std::string& what) {
    const auto now = Clock::now();
    if (now - reported < kReportEvery) return;
    reported = now;
    const auto waited = std::chrono::duration_cast<seconds>(now - since).count();
    say("GPU " + std::to_string(gpu) + ": waiting for " + std::to_string(waited) + " s: " + what);
  }
  bool absent_too_long() {
    const auto now = Clock::now();
    absent_since = std::min(absent_since, now);
    return now - absent_since >= seconds(service_timeout_seconds());
  }
  void present() { absent_since = Clock::time_point::max(); }
};

bool SessionClient::open() {
  attachment_.variables = library_variables();
  return connect(true);
}

/// Handles a broken connection (on_closed, under its I/O lock). A new thread looks for the next worker,
/// because the calling thread may be the transport's own, which has to be joined.
void SessionClient::lost(Lock& lock, WorkerConnection& connection) {
  if (status_.load() != kSuccess) return;
  if (connection.acknowledged) failed_connections_ = 0;
  ++failed_connections_;
  lost_ = std::move(connection_);
  lock.unlock();
  const auto reconnect = [](void* self) -> void* {
    static_cast<SessionClient*>(self)->connect(false);
    return nullptr;
  };
  if (!start_thread("jitc-reconnect", reconnect, this))
    fail(kUnknown, "no thread could be started to connect to the worker again");
}

/// Connects. True when there is a connection; false when the session has failed.
bool SessionClient::connect(bool first) {
  std::shared_ptr<WorkerConnection> old;
  {
    const Lock lock(mutex_);
    old = std::move(lost_);
  }
  if (old && final_end(*old)) return false;
  old.reset();  // closes it: joins the transport's thread
  Patience patience;
  {
    const Lock lock(mutex_);
    if (failed_connections_ > 1) patience.tries = failed_connections_ - 1;
  }
  while (status_.load() == kSuccess) {
    std::this_thread::sleep_for(pause(patience.tries));
    ++patience.tries;
    if (connect_once(first, patience)) return true;
  }
  return false;
}

/// Makes one attempt: asks the service, connects to the worker.
bool SessionClient::connect_once(bool first, Patience& patience) {
  Attachment attachment;
  const Answer answer = ask(socket_, gpu_, attachment_.token, keeper_, attachment_.variables, &attachment);
  if (answer.ok()) {
    patience.present();
    std::string why;
    if (attachment_.token.empty()) {
      take_memory(keeper_, &attachment.pinned);
      attachment.variables = attachment_.variables;
      attachment_ = attachment;
      // With --check-order an op reports each wait.
      if (!order_check::is_wanted()) page_.open(attachment_.pinned);
    }
    if (open_connection(attachment, &why)) return true;
    patience.report(gpu_, "its worker cannot be reached (" + why + ")");
    return false;
  }
  if (answer.absent() || (unclear(answer) && !first)) {
    if (answer.hopeless() || patience.absent_too_long())
      fail(error_of(first, answer),
           explain(socket_, answer) + (answer.hopeless() ? ""
                                                         : "; it was waited for in vain for " +
                                                               std::to_string(service_timeout_seconds()) +
                                                               " s (JITC_SERVICE_TIMEOUT)"));
    patience.report(gpu_, explain(socket_, answer));
    return false;
  }
  patience.present();
  if (temporary(answer))
    patience.report(gpu_, answer.text);
  else
    fail(error_of(first, answer), explain(socket_, answer));
  return false;
}

bool SessionClient::open_connection(const Attachment& attachment, std::string* error) {
  auto connection = std::make_shared<WorkerConnection>(static_cast<ConnectionListener&>(*this));
  uint64_t received = 0;
  {
    const Lock lock(mutex_);
    connection_ = connection;  // its events can come before open returns
    received = results_.received();
  }
  const bool opened = connection->open(attachment.worker_socket, attachment_.token, received, error);
  {
    const Lock lock(mutex_);
    connection->opened = opened && !connection->closed;
    changed_.notify_all();
    if (connection->opened) return true;
    connection_.reset();
    ++failed_connections_;
  }
  if (opened) {
    *error = connection->closed_text;
    final_end(*connection);
  }
  return false;
}

/// Fails the session if its stream ended for a reason that a new stream would not change.
bool SessionClient::final_end(const WorkerConnection& connection) {
  const int status = connection.closed_status;
  const std::string& text = connection.closed_text;
  bool contested = false;
  {
    const Lock lock(mutex_);
    contested = status == static_cast<int>(Rpc::already_exists) &&
                (!ever_acknowledged_ || failed_connections_ > kContestedTries);
  }
  if (!contested && !among(status, {Rpc::invalid_argument, Rpc::failed_precondition, Rpc::permission_denied,
                                    Rpc::resource_exhausted}))
    return false;
  fail(kUnknown, "the worker refused the session: " + text);
  return true;
}

void SessionClient::detach() {
  // A worker that ends at once would ignore its last ops.
  if (order_check::is_wanted() && status() == kSuccess) call(ops::MemoryInfo{});
  fail(kCudartUnloading, "the process is exiting", false);
  session::detach(socket_, attachment_.token, kDetachMs);
}

}  // namespace jitc::session

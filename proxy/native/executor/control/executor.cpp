#include "executor.h"

#include <chrono>
#include <csignal>

#include "base/error.h"
#include "device/devices.h"
#include "device_options.h"
#include "jitc/generated_errors.h"
#include "jitc/generated_faults.h"
#include "json_values.h"
#include "messages.h"
#include "session_commands.h"
#include "stats_document.h"

namespace jitc {
namespace {
/// Longest time for delivering a session's reports at its end.
constexpr std::chrono::seconds kTelling{10};
}  // namespace

Executor::Executor(const std::string& options, const jitc_control& control)
    : options_(parse_options(options)), control_(control) {
  std::string error;
  if (!open_device(options_.device, options_.libraries, options_.ordinal, device_, error))
    throw Error("the " + options_.device + " device cannot be opened: " + error);
  if (const std::string socket = op_socket_of(options); !socket.empty())
    server_ = std::make_unique<OpServer>(options_.libraries.path("transport"), socket,
                                         [this](const std::string& token) { return find_by_token(token); });
  reporter_ = std::thread([this] { report_loop(); });
}

Executor::~Executor() {
  server_.reset();
  for (const auto& session : all()) session->leave();
  std::map<uint64_t, std::shared_ptr<Session>> sessions;
  {
    const std::lock_guard lock(mutex_);
    sessions.swap(sessions_);
  }
  {
    const std::lock_guard lock(reports_mutex_);
    stop_ = true;
    wake_.notify_all();
  }
  sessions.clear();
  reporter_.join();
}

void Executor::open(const std::string& document) {
  const auto message = messages::parsed<messages::OpenSessionRequest>(parse_object(document));
  const SessionRequest request = messages::session(message);
  const Error already("session " + std::to_string(request.session) + " is open already");
  {
    const std::lock_guard lock(mutex_);
    if (sessions_.contains(request.session)) throw already;
  }
  const auto session = std::make_shared<Session>(request, options_, *this);
  const std::lock_guard lock(mutex_);
  if (!sessions_.try_emplace(request.session, session).second) throw already;
  if (!request.token.empty()) tokens_[request.token] = request.session;
}

void Executor::close(uint64_t number) {
  std::shared_ptr<Session> session = find(number);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(tokens_, [&](const auto& one) { return one.second == number; });
  }
  session->leave();
  session->release_images();
  {
    const std::lock_guard lock(mutex_);
    sessions_.erase(number);
  }
  std::unique_lock lock(reports_mutex_);
  reported_.wait_for(lock, kTelling, [this] { return reports_.empty() && !reporting_; });
}

std::shared_ptr<Session> Executor::find(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) throw Error("this worker has no session " + std::to_string(number));
  return found->second;
}

std::shared_ptr<Session> Executor::find_by_token(const std::string& token) const {
  const std::lock_guard lock(mutex_);
  const auto found = tokens_.find(token);
  return found == tokens_.end() ? nullptr : sessions_.at(found->second);
}

std::vector<std::shared_ptr<Session>> Executor::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Session>> list;
  for (const auto& entry : sessions_) list.push_back(entry.second);
  return list;
}

std::string Executor::command(const std::string& method, const std::string& request) {
  if (method != "Stats") {
    const Json json = parse_object(request);
    const auto session = find(get<uint64_t>(json, "session"));
    SessionCommands commands(*session);
    return text_of(messages::call(commands, method, json));
  }
  std::vector<SessionStats> stats;
  for (const auto& session : all()) stats.push_back(session->stats());
  return stats_document(stats);
}

CommunicatorSegment Executor::join(uint64_t session, const std::array<uint8_t, 128>& unique_id,
                                   uint32_t ranks, uint32_t rank, uint64_t epoch) {
  jitc_join answer{};
  const int code = control_.join ? control_.join(session, unique_id.data(), ranks, rank, epoch, &answer)
                                 : JITC_JOIN_REFUSED;
  if (code == JITC_JOINED)
    return {
        std::make_shared<OpenFile>(answer.descriptor), answer.segment_bytes, answer.identity, false, 0, {}};
  if (code == JITC_JOIN_SUPERSEDED) return {{}, 0, 0, true, 0, {}};
  const bool told = answer.status && answer.text[0];
  return {
      {}, 0, 0, false, told ? answer.status : errors::kUnknown, told ? answer.text : "nobody can be asked"};
}

void Executor::report_fault(uint64_t session, uint64_t sequence, uint32_t status, std::string cause,
                            std::string message) {
  if (control_.fault)
    report([=, this] { control_.fault(session, sequence, status, cause.c_str(), message.c_str()); });
}

void Executor::report_race(uint64_t session, const Race& race) {
  if (!control_.race) return;
  const Json json = messages::document(messages::message(session, race));
  report([text = text_of(json), this] { control_.race(text.c_str()); });
}

void Executor::report(std::function<void()> call) {
  const std::lock_guard lock(reports_mutex_);
  if (stop_) return;
  reports_.push_back(std::move(call));
  wake_.notify_one();
}

void Executor::report_loop() {
  std::unique_lock lock(reports_mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !reports_.empty(); });
    if (reports_.empty()) return;
    const auto report = std::move(reports_.front());
    reports_.pop_front();
    reporting_ = true;
    lock.unlock();
    report();
    lock.lock();
    reporting_ = false;
    reported_.notify_all();
  }
}

void Executor::fire(const Fault& fault, const std::string& detail) {
  if (control_.fault_fired) control_.fault_fired(fault.number, detail.c_str());
  const ops::FaultKind* const kind = ops::find_fault(fault.kind);
  if (!kind) return;
  switch (kind->carrier) {
    case ops::FaultCarrier::signal:
      // Raised in this thread, which thereby handles it before it continues. A signal to the process may go
      // to another thread, and this one would run the op meanwhile.
      raise(kind->signal);
      return;
    case ops::FaultCarrier::sessions: {
      const std::lock_guard lock(mutex_);  // a thread that ends one of them waits until it is broken
      for (const auto& [number, session] : sessions_)
        session->break_device(errors::kIllegalAddress, "sticky-error",
                              "an illegal memory access was encountered (injected fault)");
      return;
    }
    case ops::FaultCarrier::device:
    case ops::FaultCarrier::service:
      return;
  }
}

}  // namespace jitc

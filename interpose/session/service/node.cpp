// Service as seen by this process: its GPUs, the sessions on them, the end of the process.
//
// Promises: nothing happens before the first call; the service is asked once; no lock is held meanwhile;
// looking up a session or the owner of an address takes no lock. Never destroyed, because threads and static
// destructors of the program call until the very end.
#include "node.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "presence.h"
#include "service_rpc.h"
#include "session/client/session_client.h"
#include "session/environment.h"
#include "session/message.h"
#include "session/order_check.h"
#include "session/process.h"
#include "session/steps.h"

namespace jitc::session {
namespace {

constexpr uint32_t kGpuLimit = 64;

class NodeClient final : public Node {
 public:
  const std::vector<GpuInfo>& gpus() override;
  Session* session(uint32_t gpu, bool create, uint32_t* error) override;
  Session* owner(uint64_t address) override;
  std::vector<Session*> sessions() override;
  bool forked() const override { return session::forked(); }
  void detach_all();

 private:
  enum class Stage : uint8_t { none, busy, done };
  struct Slot {
    Stage stage = Stage::none;
    uint32_t error = kSuccess;
    std::atomic<SessionClient*> session{nullptr};
  };

  uint32_t open(uint32_t gpu);
  void publish(uint32_t gpu, SessionClient* session);

  std::mutex mutex_;
  std::condition_variable changed_;
  Stage described_ = Stage::none;
  pid_t describing_ = 0;  // the process that asks, while described_ is busy
  // The service that has named the GPUs: sessions are opened there, whatever else can be found by then.
  std::string socket_;
  std::vector<GpuInfo> gpus_;
  std::array<Slot, kGpuLimit> slots_;
  // In order of opening, for owner().
  std::array<std::atomic<SessionClient*>, kGpuLimit> opened_{};
  std::atomic<size_t> opened_count_{0};
  pid_t pid_ = 0;

  friend void at_exit();
};

NodeClient& node() {
  static auto* const instance = new NodeClient;
  return *instance;
}

void at_exit() {
  // vfork and raw clone bypass pthread_atfork; the pid reveals them.
  if (!session::forked() && node().pid_ == ::getpid()) node().detach_all();
}

const std::vector<GpuInfo>& NodeClient::gpus() {
  std::unique_lock lock(mutex_);
  // A child of a fork asks for itself: the thread that was asking is not in it.
  changed_.wait(lock, [this] { return described_ != Stage::busy || describing_ != ::getpid(); });
  if (described_ == Stage::done) return gpus_;
  described_ = Stage::busy;
  describing_ = ::getpid();
  lock.unlock();
  const std::string socket = service_socket();
  std::vector<GpuInfo> found;
  Presence service(socket);
  Answer answer = describe(socket, &found);
  while (service.expected(answer)) answer = describe(socket, &found);
  if (!answer.ok()) {
    found.clear();
    message_once(explain(socket, answer));
    set_last_message(explain(socket, answer));
  }
  if (!found.empty()) order_check::wanted.store(found.front().check_order);
  lock.lock();
  socket_ = socket;
  gpus_ = std::move(found);
  described_ = Stage::done;
  changed_.notify_all();
  return gpus_;
}

Session* NodeClient::session(uint32_t gpu, bool create, uint32_t* error) {
  uint32_t ignored = 0;
  uint32_t& why = error != nullptr ? *error : ignored;
  why = kSuccess;
  if (session::forked()) return why = kInitializationError, nullptr;
  if (gpu >= kGpuLimit) return why = kInvalidDevice, nullptr;
  Slot& slot = slots_[gpu];
  if (SessionClient* session = slot.session.load(std::memory_order_acquire)) return session;
  if (!create) return nullptr;
  why = open(gpu);
  return slot.session.load(std::memory_order_acquire);
}

/// Opens the session, or waits for the thread that is opening it. Returns 0 or the error; both are
/// remembered.
uint32_t NodeClient::open(uint32_t gpu) {
  const auto& known = gpus();
  const bool exists =
      std::any_of(known.begin(), known.end(), [gpu](const GpuInfo& info) { return info.index == gpu; });
  if (!exists) return known.empty() ? kNoDevice : kInvalidDevice;
  Slot& slot = slots_[gpu];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return slot.stage != Stage::busy; });
  if (slot.stage == Stage::done) return slot.error;
  slot.stage = Stage::busy;
  lock.unlock();
  watch_forks();
  auto* session = new SessionClient(socket_, gpu);  // leaked, like everything that threads may use
  const bool good = session->open();
  Steps& steps = Steps::instance();
  const std::lock_guard no_step(steps.mutex);
  if (good) steps.enter(*session);
  lock.lock();
  slot.error = good ? kSuccess : session->status();
  slot.stage = Stage::done;
  if (good) publish(gpu, session);
  changed_.notify_all();
  return slot.error;
}

void NodeClient::publish(uint32_t gpu, SessionClient* session) {
  if (pid_ == 0) {
    pid_ = ::getpid();
    std::atexit(at_exit);
  }
  const size_t count = opened_count_.load();
  opened_[count].store(session, std::memory_order_release);
  opened_count_.store(count + 1, std::memory_order_release);
  slots_[gpu].session.store(session, std::memory_order_release);
}

Session* NodeClient::owner(uint64_t address) {
  const size_t count = opened_count_.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    SessionClient* session = opened_[i].load(std::memory_order_acquire);
    if (address - session->address_base() < session->address_bytes()) return session;
  }
  return nullptr;
}

std::vector<Session*> NodeClient::sessions() {
  std::vector<Session*> all;
  const size_t count = opened_count_.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) all.push_back(opened_[i].load(std::memory_order_acquire));
  return all;
}

void NodeClient::detach_all() {
  for (size_t i = 0; i < opened_count_.load(); ++i) opened_[i].load()->detach();
}

}  // namespace

Node& Node::instance() { return node(); }

}  // namespace jitc::session

// See communicators.h.
#include "communicators.h"

#include <algorithm>

#include "collective_call.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr int32_t kMostRanks = 1024;
constexpr uint64_t kNoResult = 0;  // sequences start at 1
constexpr std::chrono::seconds kLastWait{10};
}  // namespace

Communicators::Communicators(std::string nccl_path, ExecutionSink& sink, CommunicatorSegments& segments,
                             CommunicatorHost& host, double hang_seconds)
    : context_{std::move(nccl_path), sink, segments, host, hang_seconds} {}

Communicators::~Communicators() { (void)fence(kLastWait); }

void Communicators::check_new(uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  if (table_.contains(handle)) refuse_handle("communicator " + hex(handle) + " exists already");
}

void Communicators::add(uint64_t handle, const Pointer& communicator) {
  const std::lock_guard lock(mutex_);
  table_.emplace(handle, communicator);
}

Communicators::Pointer Communicators::get(uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(handle);
  if (found == table_.end()) refuse_handle("communicator " + hex(handle) + " does not exist");
  return found->second;
}

/// Destroys communicators whose owner thread has finished.
void Communicators::reap() {
  const std::lock_guard lock(mutex_);
  std::erase_if(gone_, [](const Pointer& one) { return one->over(); });
}

bool Communicators::find(uint64_t handle, Identity& out) const {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(handle);
  if (found == table_.end() || !found->second->known()) return false;
  out = found->second->identity();
  return true;
}

bool Communicators::quiet() const {
  const std::lock_guard lock(mutex_);
  const auto owes = [](const Pointer& one) { return one->owes_result(); };
  return std::none_of(gone_.begin(), gone_.end(), owes) &&
         std::none_of(table_.begin(), table_.end(), [&](const auto& entry) { return owes(entry.second); });
}

bool Communicators::wait_quiet(std::optional<std::chrono::steady_clock::time_point> end) {
  std::unique_lock lock(context_.mutex);
  const auto over = [this] { return context_.given_up || quiet(); };
  if (end) return context_.changed.wait_until(lock, *end, over);
  context_.changed.wait(lock, over);
  return true;
}

void Communicators::create(const ops::CommunicatorCreate& op) {
  if (op.ranks < 1 || op.ranks > kMostRanks || op.rank < 0 || op.rank >= op.ranks)
    refuse_value("rank " + std::to_string(op.rank) + " of " + std::to_string(op.ranks));
  reap();
  check_new(op.handle);
  const auto made = std::make_shared<Communicator>(
      context_, Identity{op.handle, op.ranks, op.rank, op.unique_id}, op.header.sequence, std::nullopt);
  add(op.handle, made);
  made->start(true);
}

void Communicators::split(const ops::CommunicatorSplit& op) {
  reap();
  const Pointer parent = get(op.parent);
  check_new(op.handle);
  const auto made =
      std::make_shared<Communicator>(context_, Identity{op.handle, 0, -1, {}}, op.header.sequence,
                                     Communicator::Origin{parent, parent->split_ticket(), op});
  add(op.handle, made);
  made->start(true);
}

void Communicators::destroy(const ops::CommunicatorDestroy& op) {
  reap();
  const Pointer communicator = get(op.handle);
  communicator->leave();
  remove(op.handle, communicator);
}

void Communicators::remove(uint64_t handle, const Pointer& communicator) {
  const std::lock_guard lock(mutex_);
  table_.erase(handle);
  gone_.push_back(communicator);
}

void Communicators::end(const ops::CommunicatorAbort& op) {
  reap();
  const Pointer communicator = get(op.handle);
  communicator->leave(op.header.sequence);
  remove(op.handle, communicator);
}

/// Notifies without locks: a thread that waits for quiet holds the context's mutex, and takes this one then.
void Communicators::abort_coming(const ops::CommunicatorAbort& op) {
  Pointer communicator;
  {
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(op.handle);
    if (found != table_.end()) communicator = found->second;
  }
  if (communicator) communicator->leave(op.header.sequence);
}

void Communicators::collective(const ops::Collective& op, NcclStream stream, const Redirect& redirect) {
  CollectiveCall call(context_, op);
  for (const ops::CollectiveItem& item : call.items()) call.add(get(item.comm));
  if (call.items().empty()) return;
  if (!call.prepare()) return;
  if (redirect) call.redirect(redirect(call));
  if (!call.start(stream)) return;
  context_.sink.injection_point(op.header, "collective");
  call.finish();
}

void Communicators::cut(const ops::Collective& op) {
  const CollectiveCall call(context_, op);
  for (const ops::CollectiveItem& item : call.items()) {
    const Pointer communicator = get(item.comm);
    communicator->wait_ready();
    communicator->cut();
  }
}

void Communicators::interrupt() {
  context_.given_up = true;
  {
    const std::lock_guard lock(context_.mutex);
    context_.changed.notify_all();
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, communicator] : table_) communicator->wake();
}

/// Notifies without locks, like abort_coming().
void Communicators::abort_all() {
  interrupt();
  std::vector<Pointer> all;
  {
    const std::lock_guard lock(mutex_);
    all = gone_;
    for (const auto& [handle, communicator] : table_) all.push_back(communicator);
  }
  for (const Pointer& one : all) one->abort();
}

bool Communicators::fence(std::chrono::milliseconds limit) {
  interrupt();
  std::vector<Identity> same;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, communicator] : table_) {
      if (communicator->known()) same.push_back(communicator->identity());
      gone_.push_back(communicator);
    }
    table_.clear();
    waiting_.clear();
  }
  // All at once: one may end only after the device, which another one's collective keeps busy.
  for (const Pointer& one : gone_) one->abort();
  const auto until = Clock::now() + limit;
  for (const Pointer& one : gone_)
    if (!one->left_nccl(until)) return false;
  reap();
  restore(same);
  return true;
}

void Communicators::restore(const std::vector<Identity>& wanted) {
  const std::lock_guard lock(mutex_);
  table_.clear();
  waiting_.clear();
  for (const Identity& identity : wanted) {
    auto made = std::make_shared<Communicator>(context_, identity, kNoResult, std::nullopt);
    if (!table_.emplace(identity.handle, made).second) continue;
    waiting_.push_back(std::move(made));
  }
}

void Communicators::resume() {
  context_.given_up = false;
  std::vector<Pointer> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const Pointer& one : waiting) one->start(false);
}

}  // namespace jitc::cuda

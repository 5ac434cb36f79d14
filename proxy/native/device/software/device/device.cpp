// Life of the device: taking ops, running them, failing, fencing, restoring. See device.h.
#include "device.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/content_hash.h"
#include "device/common/operands.h"
#include "device/software/memory/copy.h"
#include "device/spoil.h"
#include "table.h"

namespace jitc::software {
namespace {
/// Copied and hashed at once: small enough to be in the processor's cache for the hash.
constexpr size_t kHashedPiece = 256u << 10;
static_assert(kHashedPiece % content::kStripe == 0);
std::atomic<uint32_t> broken{0};

void check_health() {
  if (const uint32_t status = broken.load()) refuse(status, "sticky-error", "the device is broken");
}
}  // namespace

void break_device(uint32_t status) { broken.store(status); }

Device::Device(const BackendOptions& options, ExecutionSink& sink, Rendezvous& rendezvous)
    : sink_(sink),
      pinned_(options.pinned),
      memory_(options.address_base, options.address_bytes, options.memory_limit, budget_of(options)),
      legacy_(std::make_shared<Stream>(0, 0, *this, crew_)),
      communicators_(sink, rendezvous, hub_, options.hang_seconds) {}

Device::~Device() {
  hang_watch_.reset();
  fence();
}

bool Device::open(const BackendOptions& options, std::string& error) {
  watch(legacy_);
  hang_watch_ = std::make_unique<HangWatch>(
      options.hang_seconds, [this] { return oldest_running(); }, [this](auto op) { hung(op); });
  operators_ = Operators::open(options.libraries.path("operators"), options.threads, options.noise, error);
  return operators_ && memory_.reserve(error);
}

/// Runs work for the op; whatever goes wrong becomes the op's result or the device's fault.
void Device::guarded(const ops::OpHeader& op, const std::function<void()>& work) {
  try {
    work();
  } catch (const OpError& error) {
    fail(op, error);
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    fail(op, {kMemoryAllocation, "host-error", std::string("the worker failed: ") + error.what()});
  }
}

void Device::fail(const ops::OpHeader& op, const OpError& error) {
  const ops::OpInfo* const info = ops::find(op.op);
  // What an operator says goes to the program as it is.
  const bool verbatim = error.cause == std::string_view("operator-error");
  const std::string message = verbatim ? error.message : about(op, info, error.message);
  const bool sticky = error.cause == std::string_view("sticky-error");
  if (info && info->waits && !sticky)
    return sink_.result(op.sequence, error.status, std::as_bytes(std::span(message)));
  State expected = State::running;
  if (!state_.compare_exchange_strong(expected, State::faulted)) return;
  give_up();
  sink_.fault(op.sequence, error.status, error.cause, message);
}

void Device::give_up() {
  hub_.give_up();
  communicators_.abort();
  crew_.changed();
}

void Device::enqueue(const ops::OpHeader& op) {
  const std::lock_guard lock(mutex_);
  if (!running()) return;
  guarded(op, [&] {
    check_record(op, ops::find(op.op));
    check_health();
    const uint64_t stalled = stall_at_.load(std::memory_order_relaxed);
    if (stalled && op.sequence == stalled) stall(op);
    const Table* const entry = Table::find(static_cast<ops::OpId>(op.op));
    if (!entry) refuse(kNotSupported, "unknown-op", "the software device does not run kernels");
    (this->*entry->place)(op);
  });
}

void Device::over() {
  pending_.fetch_sub(1);
  hub_.changed();
  crew_.changed();
}

void Device::drop(const Task& task) {
  if (task.record && task.op->op == static_cast<uint16_t>(ops::OpId::event_record)) task.record->finish();
}

bool Device::may_start(const Task& task) const {
  if (!running()) return true;  // it is dropped
  const auto over = [](const After& after) { return after.finished->load() >= after.tickets; };
  const bool waits = task.op->op == static_cast<uint16_t>(ops::OpId::event_wait);
  return (!waits || task.record->done()) && std::all_of(task.after.begin(), task.after.end(), over);
}

void Device::run(const Task& task) {
  guarded(*task.op, [&] { run_op(task); });
  if (!running()) drop(task);
}

void Device::run_op(const Task& task) {
  using ops::OpId;
  const ops::OpHeader& op = *task.op;
  const auto result = [&](std::span<const std::byte> payload) {
    sink_.result(op.sequence, kSuccess, payload);
  };
  switch (static_cast<OpId>(op.op)) {
    case OpId::copy_h2d:
      return copy_h2d(memory_, sink_, as<ops::CopyH2d>(op));
    case OpId::copy_d2h:
      return result(copy_d2h(memory_, sink_, as<ops::CopyD2h>(op)));
    case OpId::copy_d2h_pinned: {
      const auto hash = copy_d2h_pinned(memory_, pinned_, sink_, as<ops::CopyD2hPinned>(op));
      return result(std::as_bytes(std::span(hash)));
    }
    case OpId::copy_d2d:
      return copy_d2d(memory_, sink_, as<ops::CopyD2d>(op));
    case OpId::copy_2d:
      return copy_2d(memory_, sink_, as<ops::Copy2d>(op));
    case OpId::fill:
      return fill(memory_, as<ops::Fill>(op));
    case OpId::operator_call:
      return operators_->call(memory_, op);
    case OpId::operator_query:
      return result(operators_->query(memory_, op));
    case OpId::matmul:
      return operators_->matmul(memory_, op);
    case OpId::collective: {
      const Crew::Absence absence(crew_);
      return communicators_.run(*task.group, memory_);
    }
    case OpId::event_record:
      return finish(*task.record);
    case OpId::stream_synchronize:
      return result({});
    case OpId::device_synchronize:
      if (task.join->remaining.fetch_sub(1) == 1) result({});
      return;
    default:
      return;
  }
}

bool Device::idle() {
  return hub_.wait([this] { return pending_ == 0 && communicators_.quiet(); }) && running();
}

void Device::fence() {
  state_.store(State::fenced);
  give_up();
  {
    const std::lock_guard told(watch_mutex_);  // hung() is over, or will find that nothing runs
  }
  stall_at_.store(0);
  const std::lock_guard lock(mutex_);  // an enqueue in progress still pushes; the next one does not
  hub_.wait_always([this] { return pending_ == 0; });
  communicators_.renew();
  reap_streams();
}

void Device::unfence() {
  const std::lock_guard lock(mutex_);
  hub_.reset();
  hang_watch_->restart();
  state_.store(State::running);
}

bool Device::restore(const Resources& resources, std::string& error) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::fenced) return error = "restore needs a fence first", false;
  std::unordered_map<uint64_t, StreamPointer> streams;
  streams.swap(streams_);
  blocking_.clear();
  retired_.clear();
  for (const auto& wanted : resources.streams) add_stream(wanted.handle, wanted.flags);
  std::unordered_map<uint64_t, Event> events;
  events.swap(events_);
  for (const auto& wanted : resources.events) {
    // Whether it was recorded is not known any more; all work before is done, so it may count as recorded.
    const auto old = events.find(wanted.handle);
    auto record =
        old == events.end() || !old->second.latest ? std::make_shared<Record>() : old->second.latest;
    if (!record->done()) record->finish();
    events_[wanted.handle] = {wanted.flags, std::move(record)};
  }
  try {
    communicators_.restore(resources.communicators);
  } catch (const OpError& failure) {
    return error = failure.message, false;
  }
  memory_.share_only(resources.host_ranges);
  return memory_.restore(resources, error);
}

void Device::commit() {
  const std::lock_guard lock(mutex_);
  memory_.commit(pending_ == 0);
}

bool Device::communicator(uint64_t handle, Resources::Communicator& out) const {
  return communicators_.find(handle, out);
}

bool Device::read(uint64_t address, std::span<std::byte> out) const {
  const void* const from = memory_.find(address, out.size(), UINT64_MAX);
  if (from && !out.empty()) std::memcpy(out.data(), from, out.size());
  return from != nullptr;
}

bool Device::read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const {
  const auto* const from = static_cast<const std::byte*>(memory_.find(address, out.size(), UINT64_MAX));
  if (!from) return false;
  ContentHasher hasher;
  for (size_t at = 0; at < out.size(); at += kHashedPiece) {
    const auto piece = out.subspan(at, std::min(kHashedPiece, out.size() - at));
    std::memcpy(piece.data(), from + at, piece.size());
    hasher.add(piece);
  }
  hash = hasher.finish();
  return true;
}

bool Device::write(uint64_t address, std::span<const std::byte> data) {
  void* const to = memory_.find(address, data.size(), UINT64_MAX);
  if (to && !data.empty()) std::memcpy(to, data.data(), data.size());
  return to != nullptr;
}

void Device::hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const {
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [address, bytes] = ranges[i];
    const void* const from = bytes ? memory_.find(address, bytes, UINT64_MAX) : nullptr;
    out[i] = from ? content_hash({static_cast<const std::byte*>(from), bytes}) : kNoHash;
  }
}

void Device::spoil_all(std::span<const MemoryRange> ranges) { spoil_by_writing(*this, ranges); }

}  // namespace jitc::software

namespace jitc {
std::unique_ptr<Backend> make_software_backend(const BackendOptions& options, ExecutionSink& sink,
                                               Rendezvous& rendezvous, std::string& error) {
  auto device = std::make_unique<software::Device>(options, sink, rendezvous);
  if (!device->open(options, error)) return nullptr;
  return device;
}
}  // namespace jitc

#include "session_client.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "jitc/completion.h"
#include "jitc/packed_reader.h"
#include "jitc/shared_steps.h"
#include "session/environment.h"
#include "session/message.h"
#include "session/order_check.h"
#include "session/phase.h"
#include "session/process.h"

namespace jitc::session {
namespace {

// Limit of op bytes that the worker has not journaled; beyond it, callers wait.
constexpr size_t kSendQueueLimit = size_t{64} << 20;

}  // namespace

uint32_t SessionClient::status() const {
  return forked() ? kInitializationError : status_.load(std::memory_order_acquire);
}

// ---- calls of the program -----------------------------------------------------------------------

uint64_t SessionClient::append(ops::OpHeader* op, size_t size, std::span<const std::byte> payload, bool wait,
                               Receiver receiver, void* context) {
  const Pending pending{nullptr, receiver, context, {}};
  return enqueue(op, size, payload, wait ? &pending : nullptr, true);
}

Result SessionClient::append_and_wait(ops::OpHeader* op, size_t size, std::span<const std::byte> payload) {
  Waiter waiter;
  const Pending pending{&waiter, nullptr, nullptr, {}};
  // No wake-up: this thread sends it itself.
  if (enqueue(op, size, payload, &pending, false) == 0) {
    const uint32_t why = status();
    return {why != kSuccess ? why : kInvalidValue, {}};
  }
  wait_until(
      [](void* self) {
        return static_cast<int>(static_cast<Waiter*>(self)->done.load(std::memory_order_acquire));
      },
      &waiter);
  return std::move(waiter.result);
}

/// Appends the record. pending: receiver of the result; wake: wakes the transport's thread to send it.
uint64_t SessionClient::enqueue(ops::OpHeader* op, size_t size, std::span<const std::byte> payload,
                                const Pending* pending, bool wake) {
  if (forked()) return 0;
  const size_t record = SendQueue::record_size(size, payload.size());
  if (record > ops::kMaximumRecord) {
    set_last_message("an op of " + std::to_string(record) + " bytes is larger than the protocol allows");
    return 0;
  }
  if (kept_.load(std::memory_order_relaxed) > kSendQueueLimit)
    wait_until(
        [](void* self) {
          auto* session = static_cast<SessionClient*>(self);
          return static_cast<int>(session->kept_.load() <= kSendQueueLimit ||
                                  session->status_.load() != kSuccess);
        },
        this);
  op->flags = static_cast<uint16_t>((op->flags & ops::kFlagOtherThread) |
                                    static_cast<uint16_t>(current_phase()) << ops::kPhaseShift |
                                    (pending != nullptr ? ops::kFlagWait : 0));
  Lock lock(mutex_);
  std::unique_ptr<SendQueue::Chunk> large;
  if (record >= SendQueue::kLarge) {
    large = send_queue_.large_chunk(record);
    lock.unlock();
    SendQueue::write_record(large->bytes.get(), op, size, payload);
    lock.lock();
  }
  if (status_.load(std::memory_order_relaxed) != kSuccess) return set_last_message(failure_), 0;
  if (order_check::is_wanted()) order_notes_.before(*this, *op, send_queue_);
  const uint64_t sequence = op->sequence =
      large ? send_queue_.append(std::move(large)) : send_queue_.append(op, size, payload);
  kept_.store(send_queue_.bytes(), std::memory_order_relaxed);
  const Reach shows = progress_.submit(*op);
  if (pending != nullptr) results_.owed.emplace(sequence, *pending).first->second.shows = shows;
  if (pending != nullptr && pending->receiver != nullptr) bytes_due_.add(sequence, shows.stream);
  // Checked under the lock: the transport announces that it sleeps, then looks here once more.
  std::shared_ptr<WorkerConnection> sleeper;
  if (wake && connection_ && connection_->opened && connection_->asleep()) sleeper = connection_;
  lock.unlock();
  if (sleeper) sleeper->wake();
  return sequence;
}

/// Waits in the transport, driving its I/O, while there is a connection; else until there is one again. done
/// must become true when the session fails.
void SessionClient::wait_until(int (*done)(void*), void* context) {
  while (true) {
    std::shared_ptr<WorkerConnection> connection;
    {
      Lock lock(mutex_);
      changed_.wait(lock, [&] { return done(context) || (connection_ && connection_->opened); });
      if (done(context)) return;
      connection = connection_;
    }
    if (connection->wait(done, context, -1) == 1) return;
  }
}

bool SessionClient::acknowledged(uint64_t sequence, Wait wait) {
  if (send_queue_.acknowledged() >= sequence) return true;
  if (wait == Wait::no || forked()) return false;
  struct Awaited {
    SessionClient* session;
    uint64_t sequence;
    bool is_there() const { return session->send_queue_.acknowledged() >= sequence; }
  } awaited{this, sequence};
  wait_until(
      [](void* self) {
        const auto* const one = static_cast<Awaited*>(self);
        return static_cast<int>(one->is_there() || one->session->status_.load() != kSuccess);
      },
      &awaited);
  return awaited.is_there();
}

// ---- events of the worker ------------------------------------------------------------------------

size_t SessionClient::on_ready(WorkerConnection& connection, std::span<const std::byte>* records,
                               size_t capacity, uint64_t* received) {
  const Lock lock(mutex_);
  // The worker's first message gives the start of sending.
  if (!connection.acknowledged || connection_.get() != &connection || status_.load() != kSuccess) return 0;
  *received = results_.received();
  return send_queue_.next(records, capacity);
}

void SessionClient::on_completions(WorkerConnection& connection, std::span<const std::byte> records) {
  while (!records.empty()) {
    CompletionHeader header;
    if (!unpack(records, &header)) return fail(kUnknown, "the worker sent a truncated completion");
    if (header.size < sizeof header + header.padding || header.size % 8 != 0 ||
        header.size > records.size() || header.padding > 7)
      return fail(kUnknown, "the worker sent a damaged completion");
    const auto payload = records.subspan(sizeof header, header.size - sizeof header - header.padding);
    records = records.subspan(header.size);
    const std::string text(reinterpret_cast<const char*>(payload.data()),
                           header.kind >= static_cast<uint16_t>(CompletionKind::fault) ? payload.size() : 0);
    switch (static_cast<CompletionKind>(header.kind)) {
      case CompletionKind::result:
        on_result(header.sequence, header.status, payload);
        break;
      case CompletionKind::ack:
        on_acknowledged(connection, header.sequence);
        break;
      case CompletionKind::progress: {
        const Lock lock(mutex_);
        progress_.advance({Reach::Of::stream, header.stream, header.sequence});
        if (page_.executed(header.stream) < header.sequence) page_.wake(header.stream);
        break;
      }
      case CompletionKind::restored: {
        const Lock lock(mutex_);
        progress_.advance({Reach::Of::device, 0, header.sequence});
        page_.wake_all();
        break;
      }
      case CompletionKind::fault:
        fail(header.status != 0 ? header.status : kUnknown, text);
        break;
      case CompletionKind::notice:
        message_once(text);
        break;
    }
  }
}

/// Makes a result known before its caller continues, so that no later call of any thread knows less. A
/// receiver gets it first: a thread that learns that a copy is done must find the bytes.
void SessionClient::on_result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  Pending pending;
  {
    const Lock lock(mutex_);
    const auto found = results_.owed.find(sequence);
    if (found == results_.owed.end())
      return;  // it arrived before the connection broke, and once more after it
    pending = found->second;
    results_.owed.erase(found);
    results_.newest = std::max(results_.newest, sequence);
  }
  if (pending.receiver != nullptr) pending.deliver(status, payload);
  {
    const Lock lock(mutex_);
    bytes_due_.given(sequence);
    if (status == kSuccess && pending.shows.sequence != 0) progress_.advance(pending.shows);
  }
  if (pending.receiver == nullptr) pending.deliver(status, payload);
}

void SessionClient::Pending::deliver(uint32_t status, std::span<const std::byte> payload) const {
  if (waiter != nullptr) {
    waiter->result = {status, {payload.begin(), payload.end()}};
    waiter->done.store(true, std::memory_order_release);
  } else if (receiver != nullptr) {
    receiver(context, status, payload);
  }
}

void SessionClient::on_acknowledged(WorkerConnection& connection, uint64_t sequence) {
  SendQueue::Acknowledged outcome = SendQueue::Acknowledged::good;
  {
    const Lock lock(mutex_);
    if (connection_.get() != &connection) return;
    outcome = connection.acknowledged ? send_queue_.acknowledge(sequence) : send_queue_.restart(sequence);
    connection.acknowledged = ever_acknowledged_ = true;
    failed_connections_ = 0;
    kept_.store(send_queue_.bytes(), std::memory_order_relaxed);
  }
  if (outcome == SendQueue::Acknowledged::unknown_op)
    fail(kUnknown, "the worker acknowledges op " + std::to_string(sequence) + ", which was never sent");
  if (outcome == SendQueue::Acknowledged::lost_op)
    fail(kUnknown, "the worker has lost ops that it had acknowledged (it has them up to " +
                       std::to_string(sequence) + "); the session cannot go on");
}

void SessionClient::on_closed(WorkerConnection& connection, int grpc_status, const char* text) {
  Lock lock(mutex_);
  connection.closed = true;
  connection.closed_status = grpc_status;
  connection.closed_text = text;
  if (connection_.get() == &connection && connection.opened) lost(lock, connection);
}

/// Ends the session: every waiting and every later call gets the status.
void SessionClient::fail(uint32_t status, const std::string& why, bool report) {
  const std::string text = why + advice_for_restarts(why);
  std::map<uint64_t, Pending> pending;
  {
    const Lock lock(mutex_);
    if (status_.load() != kSuccess) return;
    failure_ = text;
    status_.store(status, std::memory_order_release);
    pending.swap(results_.owed);
  }
  if (report) message_once("GPU " + std::to_string(gpu_) + ": " + text);
  for (const auto& [sequence, owed] : pending) owed.deliver(status, {});
  // After the deliveries, so that a woken waiter finds its result.
  const Lock lock(mutex_);
  changed_.notify_all();
  page_.wake_all();
}

}  // namespace jitc::session

// Session as the API layer uses it: its send queue, its results, and the connection to its current worker.
//
// Called by: node.cpp (opens it), the API layer through session.h. It is never destroyed: threads of the
// program may use it until the process ends. session_client.cpp has the calls and the worker's events,
// known_progress.cpp what is known without asking the worker, reconnect.cpp the search for a worker.
//
// Locks: mutex_ is held for a few dozen instructions, never across a wait or a call out. Order: the
// transport's I/O lock (held around the on_ functions), then mutex_.
#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "order_notes.h"
#include "send_queue.h"
#include "session/progress/bytes_due.h"
#include "session/progress/progress_reader.h"
#include "session/progress/stream_progress.h"
#include "session/service/keeper_connection.h"
#include "session/service/service_rpc.h"
#include "session/session.h"
#include "worker_connection.h"

namespace jitc::session {

/// Retry state while a session has no worker: number of attempts, messages to the user.
struct Patience;

class SessionClient final : public Session, private ConnectionListener {
 public:
  SessionClient(std::string socket, uint32_t gpu) : socket_(std::move(socket)), gpu_(gpu) {}
  /// Opens the session; false when the service refused it (status() and the message on stderr say why).
  bool open();
  /// Detaches at the end of the process: informs the service; later calls return an error at once.
  void detach();

  bool executed(uint64_t stream, uint64_t sequence) const override {
    return progress_.executed(stream, sequence);
  }
  bool find_executed(uint64_t stream, uint64_t sequence, Wait wait) override;
  bool find_all_executed() override;
  bool acknowledged(uint64_t sequence, Wait wait) override;
  uint64_t last_submitted(uint64_t stream) const override { return progress_.submitted(stream); }
  uint32_t status() const override;
  uint32_t gpu() const override { return gpu_; }
  uint64_t address_base() const override { return attachment_.address_base; }
  uint64_t address_bytes() const override { return attachment_.address_bytes; }
  const PinnedRegion& pinned() const override { return attachment_.pinned; }
  void name_late_variables() const override { session::name_late_variables(attachment_.variables, gpu_); }

 private:
  /// Caller that waits for a result; lives on its stack.
  struct Waiter {
    std::atomic<bool> done{false};
    Result result;
  };
  /// Destination of an op's result: a waiter or a receiver.
  struct Pending {
    Waiter* waiter = nullptr;
    Receiver receiver = nullptr;
    void* context = nullptr;
    Reach shows;  // what has run if it succeeds
    void deliver(uint32_t status, std::span<const std::byte> payload) const;
  };
  struct Results {
    std::map<uint64_t, Pending> owed;  // by sequence: the first one shows what has arrived
    uint64_t newest = 0;
    /// Returns the highest sequence whose result arrived, with none still owed before it.
    uint64_t received() const { return owed.empty() ? newest : std::min(newest, owed.begin()->first - 1); }
  };
  using Lock = std::unique_lock<std::mutex>;

  uint64_t append(ops::OpHeader* op, size_t size, std::span<const std::byte> payload, bool wait,
                  Receiver receiver, void* context) override;
  Result append_and_wait(ops::OpHeader* op, size_t size, std::span<const std::byte> payload) override;
  uint64_t enqueue(ops::OpHeader* op, size_t size, std::span<const std::byte> payload, const Pending* pending,
                   bool wake);
  void wait_until(int (*done)(void*), void* context);

  void on_completions(WorkerConnection& connection, std::span<const std::byte> records) override;
  void on_closed(WorkerConnection& connection, int grpc_status, const char* text) override;
  size_t on_ready(WorkerConnection& connection, std::span<const std::byte>* records, size_t capacity,
                  uint64_t* received) override;
  void on_result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload);
  void on_acknowledged(WorkerConnection& connection, uint64_t sequence);

  // known_progress.cpp
  void poll();
  bool learn(uint64_t stream, uint64_t sequence);

  // reconnect.cpp
  void lost(Lock& lock, WorkerConnection& connection);
  bool connect(bool first);
  bool connect_once(bool first, Patience& patience);
  bool open_connection(const Attachment& attachment, std::string* error);
  bool final_end(const WorkerConnection& connection);
  void fail(uint32_t status, const std::string& why, bool report = true);

  const std::string socket_;
  const uint32_t gpu_;
  KeeperConnection keeper_;
  Attachment attachment_;  // token and addresses never change; the worker's socket does

  mutable std::mutex mutex_;
  std::condition_variable changed_;               // connection_ or status_
  std::shared_ptr<WorkerConnection> connection_;  // null while there is no worker
  std::shared_ptr<WorkerConnection> lost_;        // broken, closed by the reconnecting thread
  SendQueue send_queue_;
  OrderNotes order_notes_;
  Results results_;
  BytesDue bytes_due_;  // of these
  bool ever_acknowledged_ = false;
  uint32_t failed_connections_ = 0;  // in a row, without an acknowledgement
  std::string failure_;

  StreamProgress progress_;
  ProgressReader page_;
  std::atomic<size_t> kept_{0};  // bytes of the send queue
  std::atomic<uint32_t> status_{kSuccess};
};

}  // namespace jitc::session

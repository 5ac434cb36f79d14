// The software device: one virtual GPU in host memory.
//
// Called by: the core, through Backend. Two steps per op: *placing* (in enqueue, in sequence order: looks up
// handles, puts the op on its stream or does it at once) and *running* (on the stream's thread, or at once).
// State: running -> faulted (an op failed) or fenced -> running (unfence). Only running executes ops.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/backend.h"
#include "device/software/blas/operators.h"
#include "device/software/collective/communicators.h"
#include "device/software/memory/memory.h"
#include "device/software/stream/crew.h"
#include "device/software/stream/event.h"
#include "device/software/stream/stream.h"
#include "device/software/stream/wait_hub.h"
#include "error.h"

namespace jitc::software {

/// From now on every op of every session in this process fails with the status (0: works again). For tests
/// and injected faults: what a GPU does after a sticky error.
void break_device(uint32_t status);

class Device final : public Backend, public Runner {
 public:
  Device(const BackendOptions& options, ExecutionSink& sink, Rendezvous& rendezvous);
  ~Device() override;
  bool open(const BackendOptions& options, std::string& error);

  void enqueue(const ops::OpHeader& op) override;
  bool idle() override;
  void fence() override;
  void unfence() override;
  bool restore(const Resources& resources, std::string& error) override;
  void commit() override;
  bool communicator(uint64_t handle, Resources::Communicator& out) const override;
  bool read(uint64_t address, std::span<std::byte> out) const override;
  bool read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const override;
  bool write(uint64_t address, std::span<const std::byte> data) override;
  void hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const override;
  void spoil_all(std::span<const MemoryRange> ranges) override;
  uint64_t memory_used() const override { return memory_.used(); }
  uint64_t memory_total() const override { return memory_.limit(); }
  std::string cannot_inject(std::string_view kind) const override;
  bool inject(std::string_view kind, const ops::OpHeader& op, std::string& error) override;

 private:
  friend struct Table;
  using StreamPointer = std::shared_ptr<Stream>;
  enum class State { running, faulted, fenced };

  // Runner
  bool running() const override { return state_.load() == State::running; }
  bool may_start(const Task& task) const override;
  void run(const Task& task) override;
  void drop(const Task& task) override;
  void report(uint64_t stream, uint64_t sequence) override { sink_.progress(stream, sequence); }
  void over() override;

  // Failures
  void guarded(const ops::OpHeader& op, const std::function<void()>& work);
  void fail(const ops::OpHeader& op, const OpError& error);
  void give_up();

  // Hangs (hangs.cpp)
  void stall(const ops::OpHeader& op);
  std::optional<HangWatch::Running> oldest_running();
  void hung(HangWatch::Running op);
  void watch(const StreamPointer& stream);

  // Placing (place.cpp); all with mutex_ held
  void place_allocate(const ops::OpHeader&);
  void place_free(const ops::OpHeader&);
  void place_memory_hold(const ops::OpHeader&);
  void place_memory_map(const ops::OpHeader&);
  void place_memory_drop(const ops::OpHeader&);
  void place_memory_info(const ops::OpHeader&);
  void place_host_register(const ops::OpHeader&);
  void place_host_unregister(const ops::OpHeader&);
  void place_stream_create(const ops::OpHeader&);
  void place_stream_destroy(const ops::OpHeader&);
  void place_stream_synchronize(const ops::OpHeader&);
  void place_device_synchronize(const ops::OpHeader&);
  void place_event_create(const ops::OpHeader&);
  void place_event_destroy(const ops::OpHeader&);
  void place_event_record(const ops::OpHeader&);
  void place_event_wait(const ops::OpHeader&);
  void place_event_synchronize(const ops::OpHeader&);
  void place_event_elapsed(const ops::OpHeader&);
  void place_communicator_create(const ops::OpHeader&);
  void place_communicator_split(const ops::OpHeader&);
  void place_communicator_destroy(const ops::OpHeader&);
  void place_collective(const ops::OpHeader&);
  void place_on_stream(const ops::OpHeader&);
  void place_nowhere(const ops::OpHeader&);

  Stream& stream_of(const ops::OpHeader& op);
  Event& event_of(uint64_t handle);
  std::vector<After> legacy_order(Stream& stream);
  bool can_run_now(const Stream& stream, const std::vector<After>& after) const;
  void push(Stream& stream, Task task);
  void wait_for_freed(bool needed);
  void make_room(uint64_t bytes);
  void done_in_place(const ops::OpHeader& op);
  void add_stream(uint64_t handle, uint32_t flags);
  void retire_stream(std::unordered_map<uint64_t, StreamPointer>::iterator found);
  void reap_streams();
  void finish(Record& record);

  // Running, on the stream's thread
  void run_op(const Task& task);

  ExecutionSink& sink_;
  const PinnedRange pinned_;
  WaitHub hub_;
  Memory memory_;
  std::shared_ptr<const Operators> operators_;
  std::atomic<State> state_{State::running};
  std::atomic<uint64_t> pending_{0};  // tasks on streams
  std::mutex mutex_;                  // tables below; held while placing
  StreamPointer legacy_;
  std::unordered_map<uint64_t, StreamPointer> streams_;  // without the legacy default stream
  std::vector<StreamPointer> blocking_;                  // those that the legacy stream waits for
  std::vector<StreamPointer> retired_;                   // destroyed, work not done yet
  std::unordered_map<uint64_t, Event> events_;
  Communicators communicators_;
  std::atomic<uint64_t> stall_at_{0};  // injected: this op never ends
  std::mutex watch_mutex_;
  std::vector<std::weak_ptr<Stream>> watched_;
  std::optional<HangWatch::Running> stalled_;
  std::unique_ptr<HangWatch> hang_watch_;
  Crew crew_;  // last: its threads use all of the above
};

}  // namespace jitc::software

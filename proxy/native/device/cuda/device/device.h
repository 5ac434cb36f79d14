// The cuda device: one virtual GPU (a session) on a real one.
//
// Called by: the core, through Backend. enqueue *places* an op: looks up handles, checks operands, and gives
// the op to the driver on its real stream, in sequence order, with mutex_ held; a file place_*.cpp per family
// of ops, and table.cpp, which says which function places which op. What has run is found out by the
// completer (completer.h). State: running -> faulted (an op failed, the device is lost, work hangs) or
// fenced -> running (unfence). Only running places ops.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "context.h"
#include "device/backend.h"
#include "device/cuda/blas/blas.h"
#include "device/cuda/blas/lt.h"
#include "device/cuda/collective/communicators.h"
#include "device/cuda/dnn/dnn.h"
#include "device/cuda/driver/error.h"
#include "device/cuda/faults/harm.h"
#include "device/cuda/graph/graphs.h"
#include "device/cuda/hash/hasher.h"
#include "device/cuda/memory/host_ranges.h"
#include "device/cuda/memory/memory.h"
#include "device/cuda/memory/pinned.h"
#include "device/cuda/memory/transfer.h"
#include "device/cuda/module/modules.h"
#include "device/cuda/stream/completer.h"
#include "device/cuda/stream/stream.h"

namespace jitc::cuda {

class Device final : public Backend, public Watcher, public CommunicatorHost {
 public:
  Device(const BackendOptions& options, ExecutionSink& sink, Rendezvous& rendezvous, ImageSource& images);
  ~Device() override;
  bool open(std::string& error);

  void enqueue(const ops::OpHeader& op) override;
  void flush() override;
  bool idle() override;
  void fence() override;
  void unfence() override;
  bool restore(const Resources& resources, std::string& error) override;
  void remember_graphs(const Resources& content) override;
  void commit() override;
  bool communicator(uint64_t handle, Resources::Communicator& out) const override;
  bool read(uint64_t address, std::span<std::byte> out) const override;
  bool read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const override;
  bool write(uint64_t address, std::span<const std::byte> data) override;
  void hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const override;
  bool hashes_itself() const override { return hasher_->usable(); }
  void spoil_all(std::span<const MemoryRange> ranges) override;
  uint64_t memory_used() const override { return memory_.used(); }
  uint64_t memory_total() const override { return memory_.total(); }
  std::string cannot_inject(std::string_view kind) const override;
  bool inject(std::string_view kind, const ops::OpHeader& op, std::string& error) override;
  bool links() const override;
  bool move_blocks(const Link& link, std::span<const MemoryRange> ranges, std::string& error) override;

 private:
  friend struct Table;
  using StreamPointer = std::unique_ptr<Stream>;
  using EventPointer = std::shared_ptr<Event>;
  enum class State { running, faulted, fenced };

  // Watcher
  void look() override;
  void hung(uint64_t sequence, bool collective) override;

  // CommunicatorHost (place_collective.cpp)
  void enter_context() override;
  bool allocated(uint64_t address, uint64_t bytes, uint64_t sequence) const override;
  void wait_begins() override;
  void wait_ends() override;
  void communicator_fault(uint64_t sequence, uint32_t status, const char* cause,
                          const std::string& message) override;

  // Failures (device.cpp)
  bool running() const { return state_.load() == State::running; }
  void fail(const ops::OpHeader& op, const OpError& error);
  void fault(uint64_t sequence, const OpError& error) const;
  uint64_t suspect() const;
  template <class Work>
  bool tried(Work&& work) const;  // direct access: false and a fault when the driver fails

  // For placing (device.cpp); with mutex_ held. These throw OpError or Abandoned.
  const Driver& driver() const { return context_->driver(); }
  void check(const char* what, abi::CUresult status) const { cuda::check(driver(), what, status); }
  Stream& stream_of(const ops::OpHeader& op);
  Event& event_of(uint64_t handle);
  const EventPointer& event_pointer(uint64_t handle);
  /// The op was given to the real stream, or to the capture that stands in for it.
  void submitted(Stream& stream, const ops::OpHeader& op);
  /// The same, and the op is answered with success, and with bytes of memory, when the stream gets there.
  void submitted_with_result(Stream& stream, const ops::OpHeader& op, Pinned memory = {}, size_t bytes = 0);
  /// The op needs nothing of its stream, but the stream's progress must still pass it.
  void done_in_place(const ops::OpHeader& op);
  void answer(const ops::OpHeader& op, std::span<const std::byte> payload = {});
  void mark_all();
  /// Waits until all that was given has run, with mutex_ released meanwhile.
  void come_to_rest();
  /// Pinned memory; waits, as above, when all of it is in use.
  Pinned staging(size_t bytes);
  /// Throws unless the op may touch the range.
  void require(const char* name, uint64_t address, uint64_t bytes) const;

  // place_memory.cpp
  uint32_t with_room(uint64_t bytes, const std::function<uint32_t()>& take);
  void place_allocate(const ops::OpHeader&);
  void place_free(const ops::OpHeader&);
  void place_memory_hold(const ops::OpHeader&);
  void place_memory_map(const ops::OpHeader&);
  void place_memory_drop(const ops::OpHeader&);
  void place_memory_info(const ops::OpHeader&);
  void place_host_register(const ops::OpHeader&);
  void place_host_unregister(const ops::OpHeader&);
  void place_copy_h2d(const ops::OpHeader&);
  void place_copy_d2h(const ops::OpHeader&);
  void place_copy_d2h_pinned(const ops::OpHeader&);
  void place_copy_d2d(const ops::OpHeader&);
  void place_copy_2d(const ops::OpHeader&);
  void place_fill(const ops::OpHeader&);

  // place_stream.cpp
  void place_nowhere(const ops::OpHeader&);
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
  void answer_after(std::vector<Stream*> streams, const ops::OpHeader& op);
  void measure(const Event& start, const Event& end, uint64_t sequence);

  // place_collective.cpp
  void place_communicator_create(const ops::OpHeader&);
  void place_communicator_split(const ops::OpHeader&);
  void place_communicator_destroy(const ops::OpHeader&);
  void place_collective(const ops::OpHeader&);

  // place_blas.cpp
  void place_blas_create(const ops::OpHeader&);
  void place_blas_destroy(const ops::OpHeader&);
  void place_blas_set(const ops::OpHeader&);
  void place_blas_call(const ops::OpHeader&);
  void place_lt_heuristic(const ops::OpHeader&);
  void place_lt_matmul(const ops::OpHeader&);
  /// A call of a library that works on the stream: its failure may be the device's.
  template <class Call>
  void library_call(Stream& stream, Call&& call);

  // place_dnn.cpp
  void place_dnn_ask(const ops::OpHeader&);
  void place_dnn_call(const ops::OpHeader&);
  void place_dnn_try(const ops::OpHeader&);
  void place_dnn_plan_load(const ops::OpHeader&);
  void place_dnn_plan_drop(const ops::OpHeader&);
  void place_dnn_execute(const ops::OpHeader&);
  void place_dnn_execute_try(const ops::OpHeader&);
  /// The op's answer is what the library says of call(stream), unless the device is lost.
  template <class Call>
  void answer_outcome(const ops::OpHeader& op, Call&& call);

  // place_module.cpp
  void place_module_load(const ops::OpHeader&);
  void place_module_unload(const ops::OpHeader&);
  void place_function_get(const ops::OpHeader&);
  void place_function_set(const ops::OpHeader&);
  void place_function_query(const ops::OpHeader&);
  void place_tensor_map(const ops::OpHeader&);
  void place_variable_get(const ops::OpHeader&);

  // place_launch.cpp
  void place_kernel_launch(const ops::OpHeader&);

  // place_graph.cpp
  class Again;
  void place_capture_begin(const ops::OpHeader&);
  void place_capture_end(const ops::OpHeader&);
  void place_graph_destroy(const ops::OpHeader&);
  void place_graph_instantiate(const ops::OpHeader&);
  void place_graph_launch(const ops::OpHeader&);
  void place_executable_destroy(const ops::OpHeader&);
  Capture* capture_of(const Stream& stream) const;
  Capture* capture_of(const ops::OpHeader& op) const;
  Capture* capture_of_event(uint64_t event) const;
  std::unique_ptr<Capture> take_capture(const ops::OpHeader& op);
  bool placed_in_capture(const ops::OpHeader& op);
  bool recorded_in_capture(const ops::OpHeader& op, uint64_t event);
  bool waits_in_capture(const ops::OpHeader& op, uint64_t event);
  void refuse_captured_event(uint64_t event);
  void leave_capture(uint64_t stream);
  bool spoiled(const ops::OpHeader& op, const OpError& error, const std::string& message);
  std::shared_ptr<Executable> executable_of(uint64_t handle);
  std::shared_ptr<Graph> made_again(const Resources::Content& content);
  void place_again(const ops::OpHeader& op);
  void resume_captures();
  void let_communicating_graphs_go();

  // inject.cpp
  void harm(std::string_view kind, const ops::OpHeader& op);
  void desert(Stream& stream, const ops::Collective& op);

  // rest.cpp: coming to rest, and making what was there
  double rest_limit() const;
  bool lock_within(double seconds);
  bool wait_for_rest(double seconds);
  std::vector<Stream*> all_streams();
  void reap_streams(bool all);
  void restore_streams(const std::vector<Resources::Stream>& wanted);
  void restore_events(const std::vector<Resources::Event>& wanted);
  [[noreturn]] void give_up_process() const;

  const BackendOptions options_;
  ExecutionSink& sink_;
  Rendezvous& rendezvous_;
  ImageSource& images_;
  std::shared_ptr<Context> context_;
  mutable std::atomic<State> state_{State::running};
  std::mutex mutex_;  // held while placing; what follows
  Memory memory_;
  std::unique_ptr<HostRanges> host_ranges_;  // before what may still copy there
  std::unique_ptr<PinnedPool> pinned_;
  std::unique_ptr<Transfer> transfer_;
  std::unique_ptr<Hasher> hasher_;
  std::unique_ptr<Completer> completer_;  // after what its deliveries use
  StreamPointer legacy_;
  std::unordered_map<uint64_t, StreamPointer> streams_;  // without the legacy default stream
  std::vector<StreamPointer> retired_;                   // destroyed, work not done yet
  std::vector<Stream*> fresh_;                           // with ops that are not marked
  std::unordered_map<uint64_t, EventPointer> events_;
  std::unique_ptr<Communicators> communicators_;
  Blas blas_;
  Lt lt_;
  Dnn dnn_;
  std::unique_ptr<Modules> modules_;
  Graphs graphs_;
  std::vector<std::unique_ptr<Capture>> captures_;  // under way
  std::vector<Resources::Capture> open_captures_;   // to go on with before the next op
  std::unique_ptr<Harm> harm_;                      // once a fault is injected
  uint64_t deserted_ = 0;  // the collective that this rank was told not to take part in
  bool again_ = false;     // ops are placed to make a graph again: nobody is told of them
};

}  // namespace jitc::cuda

// One session: a training process on a GPU. Takes its ops into the journal, executes them from there, and
// goes back to a boundary when told to.
//
// Threads: the stream's reader (submit), its writer (poll), the dispatcher (own), back end threads (sink),
// control threads (commands; one at a time). Live execution and replay are the same: the dispatcher has a
// cursor in the journal. What the dispatcher alone may touch, commands may touch while it is parked.
//
// Life: fenced (a rebuilt session starts so) <-> running -> faulted -> fenced; any -> over (given up).
// Only running executes ops; faulted waits for Fence. Files: session.cpp, intake.cpp (client's side),
// unread.cpp, dispatch.cpp, order.cpp, step.cpp, boundary.cpp, recovery.cpp, restore.cpp, keep.cpp,
// commands.cpp, links.cpp.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/board.h"
#include "completion_queue.h"
#include "device/backend.h"
#include "executor/checkpoint/boundary_state.h"
#include "executor/checkpoint/boundary_times.h"
#include "executor/checkpoint/snapshot.h"
#include "executor/control/injector.h"
#include "executor/journal/journal.h"
#include "executor/journal/wire.h"
#include "executor/replay/tolerance.h"
#include "executor/replay/validation.h"
#include "executor/state/images.h"
#include "executor/state/pinned_memory.h"
#include "executor/state/resources.h"
#include "progress.h"
#include "results.h"
#include "session_types.h"

namespace jitc {

class Session final : public ExecutionSink, public Rendezvous {
 public:
  enum class State { running, fenced, faulted, over };

  Session(const SessionRequest& request, const DeviceOptions& options, Host& host);
  ~Session() override;

  // The client's stream (executor_api.h).
  uint64_t attach(uint64_t results_received);
  void detach();
  void submit(std::span<const std::byte> message);
  int64_t poll(std::span<std::byte> out, int timeout_ms);

  // Recovery and policy (worker.proto). Each throws Error with what is wrong.
  Position fence(uint64_t epoch);
  // epoch: of the recovery that asks, 0: not said. When a newer one has fenced the session the call is
  // refused, and ends soon if it is under way.
  RecoverReply keep(uint64_t epoch, uint32_t timeout_ms);
  /// replaced: blocks that are to have the content of these hashes from then on, which only a peer can give.
  RecoverReply roll_back(uint64_t boundary, uint64_t epoch = 0, const std::vector<LiveRow>& replaced = {});
  RecoverReply finish_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch = 0);
  RecoverReply skip_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch = 0);
  uint64_t export_blocks(const std::string& path, const std::vector<Transfer>& blocks);
  uint64_t import_blocks(const std::string& path, const std::vector<Transfer>& blocks);
  /// Both ends at once. Incomplete: nothing has come about, and the receiver's blocks hold anything.
  RecoverReply send_blocks(const LinkRequest& request);
  RecoverReply receive_blocks(const LinkRequest& request);
  /// The reply of a rank whose blocks are to be restored, or to serve others.
  RecoverReply with_links(RecoverReply reply) const;
  /// bound: up to which numbers may differ in replay from what the program has (tolerance.h).
  void resume(uint64_t epoch, const std::vector<uint32_t>& slots, double bound = 0);
  void abandon(uint32_t status, const std::string& message);
  BoundaryState boundary_table(uint64_t boundary);
  void set_policy(Policy policy);
  /// Before this optimizer step the session stops once, and compares when it comes there again. False: it
  /// stands still or is about to, for another validation or a recovery; ask again when it has gone on.
  bool validate(uint64_t step);
  /// After this boundary, before anything else runs, the session stops (fault "replica-divergence").
  void hold_after(uint64_t boundary);
  /// A line for the user, in the program's output.
  void notice(const std::string& text);
  void arm(const Fault& fault);
  SessionStats stats();
  /// The device is unusable for every session of this process.
  void break_device(uint32_t status, std::string_view cause, std::string_view message);
  /// The process is done with the session: its slot is free again.
  void leave();
  /// The program is over: nothing that it held on this node is needed any more.
  void release_images() { images_.close(); }

  // ExecutionSink, Rendezvous
  void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) override;
  void progress(uint64_t stream, uint64_t sequence) override;
  void fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) override;
  void injection_point(const ops::OpHeader& op, std::string_view phase) override;
  bool delivered(uint64_t sequence) const override { return results_.known(sequence).has_value(); }
  MeetingPlace join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks, uint32_t rank) override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  // session.cpp
  void load();
  void load_record(const RecordHeader& record, std::vector<std::byte>& parts);
  void claim_extents();
  void give_result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload);
  std::span<const std::byte> result_bytes(uint64_t position, size_t size) const;
  void wake_dispatcher();

  // mismatch.cpp
  static bool reads_what_steers(const ops::OpHeader& op);
  void report_mismatch(uint64_t sequence, uint32_t status, std::span<const std::byte> payload);

  // intake.cpp
  void check_pinned(const wire::OpView& op) const;
  void store(const wire::OpView& op);
  bool append(const wire::OpView& op);
  void wait_for_room();

  // dispatch.cpp
  void dispatch_loop();
  void run_ops();
  bool has_work() const;
  bool runs() const { return state_.load(std::memory_order_acquire) == State::running; }
  bool too_much_unread() const;
  bool wait_until_read();
  void wake_held_back();
  bool take(const RecordHeader& record);
  bool dispatch(const RecordHeader& record);
  void hold_here();
  void enqueue(const ops::OpHeader& op);
  void promise_result(const ops::OpHeader& op, const ops::OpInfo& info);
  void refuse_excess(const ops::OpHeader& op, const ops::OpInfo& info, const ResourceTable::Excess& excess);
  bool failed_before(const ops::OpHeader& op) const;
  void skip(const ops::OpHeader& op);
  void note_resource(const ops::OpHeader& op, const ops::OpInfo& info);
  bool serve_image(const ops::OpHeader& op);
  uint32_t has_image(const ops::ImageQuery& query);
  void release_unused_images(uint64_t sequence);
  void note_window(const ops::OpHeader& op);
  void inject(const std::optional<Fault>& fault, const ops::OpHeader& op);
  void arm_device(Fault fault);
  void shed();
  void forget_all(const std::string& why, const std::string& option);
  void reserve_memory();
  void settle_memory();
  void settle();

  // order.cpp
  void note_told(std::span<const StreamProgress> told);
  void note_again(uint64_t sequence);
  void wake_replay();
  bool await_told(const RecordHeader& record);
  bool true_again(const RecordHeader& record);

  // step.cpp
  bool at_live_set(const ops::LiveSet& op);
  bool at_step_begin(const ops::StepBegin& op);
  bool wants_step_copy(const LiveRow& row) const;
  const LiveRow* row_at_boundary(const LiveRow& live) const;
  bool at_validation(Validation due, const ops::StepBegin& op);
  std::vector<LiveRow> live_now() const;
  void measure_before_step();
  void learn_volatile();
  bool copy_before_step(uint64_t step);
  bool copy_changed_rows(StepState& state);
  bool wait_for_group(uint64_t step);
  bool copy_rest_of_boundary();
  bool copy_rest(BoundaryState& state);

  // boundary.cpp
  enum class Kept { all, stopped, no_room };
  bool record(const BoundaryState& state);
  Kept find_room(const ops::Boundary& op, BoundaryState& state);
  void pass_boundary(uint64_t number);
  void announce(uint64_t number);
  bool at_boundary(const ops::Boundary& op, uint64_t position);
  bool make_boundary(const ops::Boundary& op, uint64_t position);
  bool keep_rows(const ops::Boundary& op, BoundaryState& state);
  bool keep_variables(BoundaryState& state);
  bool copy_row(LiveRow& row, uint64_t sequence);
  bool measure(std::span<LiveRow> rows, uint64_t sequence);
  bool refuse_row(const LiveRow& row, uint64_t sequence);
  std::vector<Hash> hashes_of(std::span<const LiveRow> rows) {
    const PhaseTime time(times_.hash);
    return jitc::hashes_of(*backend_, rows);
  }
  bool drained() {
    const PhaseTime time(times_.drain);
    return backend_->idle();
  }
  void publish_boundary(BoundaryState state);
  bool make_imported_boundary();
  void settle_progress(const ops::OpHeader& op);
  Hash before_of(const LiveRow& row) const;
  void commit_known();
  void truncate();
  void drop_boundary(const BoundaryState& state);
  void drop_step();
  void drop_copies(const std::vector<LiveRow>& rows);
  std::shared_ptr<const Policy> policy() const;

  // spoil.cpp
  void spoil(const Resources& resources, const std::vector<LiveRow>& kept);

  // recovery.cpp
  void stop_dispatcher(Lock& lock);
  void hold(Lock& lock);
  void stop_backend(Lock& lock);
  void start();
  void require_fenced(const char* what) const;
  void begin_command(uint64_t epoch);
  bool outdated(uint64_t epoch) const { return epoch && *newest_epoch_ > epoch; }
  void stop_if_outdated(uint64_t epoch) const;
  bool stands_at(uint64_t boundary) const;
  const BoundaryState* find_boundary(uint64_t number) const;
  bool starts_after(uint64_t boundary) const;
  RecoverReply restart(uint64_t boundary);
  RecoverReply restore_to(const BoundaryState* state);
  std::vector<LiveRow> keep_what_holds(const BoundaryState& state, RecoverReply& reply);
  void restore_rows(const BoundaryState& state, const std::vector<LiveRow>& kept, RecoverReply& reply);
  bool restore_copies(const std::vector<LiveRow>& rows, RecoverReply& reply);
  bool whole_plans(const Resources& resources, std::string& error);
  static std::string error_of_variables(const RecoverReply& reply);
  void replace_rows(uint64_t boundary, const std::vector<LiveRow>& replaced);
  void forget_after(uint64_t boundary);
  const ops::Boundary* wait_for_boundary_op(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch,
                                            uint64_t& position);
  bool skip_ops(uint64_t from, uint64_t to, ResourceTable& table, std::string& why);
  bool skip_result(const ops::OpHeader& op);
  static const Resources::Variable* unsettled_variable(const Resources& resources, const BoundaryState* base);
  std::vector<std::byte> known_payload(uint64_t sequence) const;
  const RecordHeader* find_record(RecordKind kind, uint64_t sequence) const;
  // keep.cpp
  RecoverReply keep_newest();
  // links.cpp
  RecoverReply move_blocks(const LinkRequest& request, bool sends);
  bool content_is_right(const std::vector<Transfer>& blocks) const;

  const LiveRow* copy_for(const LiveRow& wanted, const BoundaryState* base, const StepState* step) const;

  const SessionRequest request_;
  const DeviceOptions options_;
  Host& host_;
  Journal journal_;
  Snapshot snapshot_;
  Board board_;
  const std::shared_ptr<BoardBudget> budget_;
  PinnedMemory pinned_;
  ImageStore images_;
  std::unique_ptr<Backend> backend_;
  Results results_;
  Tolerance tolerance_;
  Outbox outbox_{[this](uint64_t position, size_t size) { return result_bytes(position, size); },
                 [this](std::span<const StreamProgress> told) { note_told(told); }};
  Injector injector_;

  std::mutex delivery_mutex_;  // a result is added and queued, or listed at attach: never half
  std::mutex submit_mutex_;
  std::atomic<uint64_t> received_{0};           // newest op in the journal
  std::atomic<uint64_t> boundary_received_{0};  // newest boundary op in the journal
  std::atomic<uint64_t> epoch_;
  /// Of the fence that was asked for last: what an earlier recovery has under way is of no use any more. A
  /// device may leave a thread behind that still looks.
  const std::shared_ptr<std::atomic<uint64_t>> newest_epoch_ = std::make_shared<std::atomic<uint64_t>>(0);

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // state, parked, room, boundaries
  std::condition_variable work_;     // for the dispatcher
  std::atomic<State> state_;
  std::atomic<bool> accepting_{false};  // results and progress of the back end count
  std::atomic<bool> asleep_{false};     // the dispatcher waits for work
  std::atomic<bool> shed_wanted_{false};
  std::atomic<bool> held_back_{false};  // the dispatcher waits for the client to read
  std::atomic<bool> protected_{true};
  std::atomic<bool> waiting_for_ops_{false};
  bool parked_ = false, stop_ = false, drain_ = false;
  bool restored_ = true;                 // memory and cursor fit together: Resume may go on
  bool memory_lost_ = false;             // this worker never had the session's memory
  uint64_t command_epoch_ = 0;           // of the recovery whose call holds mutex_, 0: it did not say
  std::atomic<bool> keep_all_{false};    // the boundary that is made is to need no peer
  std::atomic<uint64_t> hold_at_{0};     // stop after this boundary (FinishStep)
  bool hold_reached_ = false;            // the dispatcher's
  std::atomic<uint64_t> stop_after_{0};  // report a fault after this boundary, 0: none
  uint32_t over_status_ = 0;
  std::string over_message_;
  std::vector<std::string> notices_;  // told at the next attach when nobody was there

  std::shared_ptr<const Policy> policy_ = std::make_shared<Policy>();

  // The dispatcher's.
  std::atomic<uint64_t> cursor_{0};
  std::atomic<uint64_t> dispatched_{0};  // newest op given to the back end
  std::atomic<uint64_t> ops_executed_{0};
  std::atomic<uint64_t> steering_reads_{0};
  bool quiet_ = true;     // everything dispatched has run: FinishStep can go on from the cursor
  bool in_step_ = false;  // between an optimizer step's begin and its boundary
  uint32_t step_waits_ = 0, step_collectives_ = 0, step_allocations_ = 0;
  ResourceTable table_{images_};
  BoundaryTimes times_;
  uint64_t images_used_ = 0;  // newest op that made an image needed, or not needed any more; 0: none
  struct Answer {
    uint64_t sequence = 0;  // of the op that is being given to the back end
    std::optional<uint32_t> status;
    std::vector<std::byte> payload;
  };
  Answer answer_;                                 // to an op that is answered in place
  std::shared_ptr<const Policy> plan_ = policy_;  // what the step or boundary under way goes by
  struct Content {
    uint64_t bytes;
    Hash hash;
  };
  std::unordered_map<uint64_t, Content>
      before_step_;  // by address: at the newest step begin, as far as measured
  std::optional<StepState> step_;
  std::vector<LiveRow> live_before_step_;     // as the program told right before the step
  std::optional<uint64_t> boundary_to_make_;  // position of a boundary op whose state was imported (SkipStep)

  // Changed by the dispatcher, with mutex_ held; read by commands.
  std::deque<BoundaryState> boundaries_;  // oldest first: those that can be gone back to
  std::atomic<uint64_t> last_boundary_{0};
  std::atomic<uint64_t> committed_{0};
  std::vector<uint32_t> peers_;
  Validations validations_;

  Progress progress_;
  std::atomic<uint64_t> past_{0};  // records before this position were there when this state was restored
  std::atomic<bool> awaiting_past_{false};
  std::atomic<bool> memory_reserved_{false};  // until the replay has passed past_

  std::thread dispatcher_;
};

const char* name_of(Session::State state);

}  // namespace jitc

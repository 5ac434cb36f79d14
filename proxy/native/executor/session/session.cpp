// The client's side of a session: its stream, handing results out; opening an existing journal.
#include "session.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/devices.h"
#include "executor/journal/wire.h"
#include "jitc/limits.h"

namespace jitc {
namespace {
constexpr uint32_t kUnknown = 999;  // cudaErrorUnknown

std::shared_ptr<BoardBudget> open_budget(const Board& board, const SessionRequest& request,
                                         const DeviceOptions& options) {
  if (request.slot >= Board::kSlots) throw Error("the board has no slot " + std::to_string(request.slot));
  return std::make_shared<BoardBudget>(board, request.slot, options.gpu, request.rebuild);
}
}  // namespace

const char* name_of(Session::State state) {
  switch (state) {
    case Session::State::running:
      return "running";
    case Session::State::fenced:
      return "fenced";
    case Session::State::faulted:
      return "faulted";
    case Session::State::over:
      return "over";
  }
  return "?";
}

Session::Session(const SessionRequest& request, const DeviceOptions& options, Host& host)
    : request_(request),
      options_(options),
      host_(host),
      journal_(request.journal, request.spill, request.rebuild),
      snapshot_(request.snapshot_path, request.snapshot_bytes),
      board_(request.board_path),
      budget_(open_budget(board_, request, options)),
      pinned_(request.pinned),
      images_(options.images, request.session, request.rebuild),
      epoch_(request.epoch),
      state_(request.rebuild ? State::fenced : State::running) {
  const BackendOptions device{.address_base = request.address_base,
                              .address_bytes = request.address_bytes,
                              .memory_limit = options.memory_limit,
                              .threads = options.threads,
                              .noise = options.noise,
                              .libraries = options.libraries,
                              .ordinal = options.ordinal,
                              .hang_seconds = options.hang_seconds,
                              .pinned = pinned_.range(),
                              .budget = budget_};
  std::string error;
  backend_ = make_backend(options.device, device, *this, *this, images_, error);
  if (!backend_) throw Error("the " + options.device + " device cannot be made: " + error);
  if (request.rebuild) {
    backend_->fence();
    restored_ = false;
    memory_lost_ = true;
    memory_reserved_ = true;
    load();
  } else {
    board_.leave(request.slot);
  }
  board_.slot(request.slot).session.store(request.session);
  board_.slot(request.slot).epoch.store(request.epoch);
  accepting_ = !request.rebuild;
  dispatcher_ = std::thread([this] { dispatch_loop(); });
}

Session::~Session() {
  detach();
  {
    Lock lock(mutex_);
    stop_ = true;
    if (state_ != State::over) state_ = State::fenced;
    accepting_ = false;
    work_.notify_all();
    changed_.notify_all();
  }
  board_.ring();
  backend_->fence();
  if (dispatcher_.joinable()) dispatcher_.join();
  backend_.reset();  // its threads call this object
}

// -- an existing journal ---------------------------------------------------------------------------

void Session::load() {
  std::vector<std::byte> parts;
  uint64_t position = journal_.head();
  while (const RecordHeader* const record = journal_.at(position)) {
    load_record(*record, parts);
    position = Journal::after(*record);
  }
  claim_extents();
  // Until it is known where to go on from, nothing is to be executed.
  cursor_ = journal_.tail();
  dispatched_ = images_used_ = received_.load();
  if (!boundaries_.empty()) {
    last_boundary_ = boundaries_.back().number;
    policy_ = plan_ = std::make_shared<Policy>(boundaries_.back().policy);
  }
  BoardSlot& slot = board_.slot(request_.slot);
  slot.prepared.store(last_boundary_);
  // The oldest boundary here need not be committed: before the first one is, the start is what is gone back
  // to.
  committed_ = boundaries_.empty() ? 0 : std::min(journal_.first_boundary(), boundaries_.front().number);
}

void Session::load_record(const RecordHeader& record, std::vector<std::byte>& parts) {
  const auto payload = record.payload();
  switch (record.kind) {
    case RecordKind::op: {
      received_ = record.sequence;
      const auto& op = *reinterpret_cast<const ops::OpHeader*>(payload.data());
      if (op.op == static_cast<uint16_t>(ops::OpId::boundary))
        boundary_received_ = as<ops::Boundary>(op).boundary;
      return;
    }
    case RecordKind::result: {
      Unpacker unpacker(payload);
      const auto known = unpacker.get<Results::Record>();
      results_.add(record.sequence, known, {record.position, payload.size() - sizeof(known), {}});
      return;
    }
    case RecordKind::rollback:
      while (!boundaries_.empty() && boundaries_.back().number > record.sequence) boundaries_.pop_back();
      last_boundary_ = record.sequence;
      step_.reset();
      return;
    case RecordKind::boundary:
    case RecordKind::step:
      if (record.part == 0) parts.clear();
      parts.insert(parts.end(), payload.begin(), payload.end());
      if (record.part + 1 != record.parts) return;
      if (record.kind == RecordKind::step) {
        step_ = StepState::unpack(parts);
        return;
      }
      {
        BoundaryState state = BoundaryState::unpack(parts, images_);
        // A later record of the same boundary replaces the earlier one.
        while (!boundaries_.empty() && boundaries_.back().number >= state.number) boundaries_.pop_back();
        if (state.number >= journal_.first_boundary()) boundaries_.push_back(std::move(state));
        step_.reset();
      }
      return;
    default:
      return;
  }
}

void Session::claim_extents() {
  const auto claim = [this](const LiveRow& row) {
    if (row.copied() && !snapshot_.claim(row.copy, row.block.bytes))
      throw Error("the journal is damaged: copies of boundaries overlap");
  };
  for (const BoundaryState& state : boundaries_)
    for (const LiveRow& row : state.rows) claim(row);
  if (step_)
    for (const LiveRow& row : step_->rows) claim(row);
}

// -- the stream ------------------------------------------------------------------------------------

uint64_t Session::attach(uint64_t results_received) {
  bool lost = false;
  {
    const std::lock_guard delivery(delivery_mutex_);
    if (!outbox_.attach()) throw Error("another stream is attached to this session");
    results_.received(results_received);
    outbox_.ack(received_, true);
    auto owed = results_.owed();
    lost = !owed;
    if (owed)
      for (Results::Owed& one : *owed) outbox_.result(one.status, one.sequence, std::move(one.bytes));
  }
  if (lost) abandon(kUnknown, "results that the program had not received were forgotten with a full journal");
  for (const auto& one : progress_.all()) outbox_.progress(one.stream, one.sequence);
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
  for (const std::string& text : notices_)
    outbox_.completion(CompletionKind::notice, 0, 0, std::as_bytes(std::span(text)));
  notices_.clear();
  if (state_ == State::over && !lost)  // else it has just been told
    outbox_.completion(CompletionKind::fault, over_status_, 0, std::as_bytes(std::span(over_message_)));
  return received_;
}

void Session::detach() {
  outbox_.detach();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Session::wake_dispatcher() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!asleep_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  work_.notify_one();
}

void Session::notice(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (outbox_.attached())
    outbox_.completion(CompletionKind::notice, 0, 0, std::as_bytes(std::span(text)));
  else
    notices_.push_back(text);
}

// -- what the back end reports -----------------------------------------------------------------------

void Session::result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  if (!accepting_) return;
  if (std::this_thread::get_id() == dispatcher_.get_id() && sequence == answer_.sequence) {
    answer_.status = status;
    answer_.payload.assign(payload.begin(), payload.end());
  }
  if (payload.size() > Outbox::kMaximumPayload)
    return fault(sequence, 1, "result-too-large", "an op's result does not fit into one message (4 MiB)");
  const Hash hash = Results::hash_of(status, payload);
  if (const auto known = results_.known(sequence)) {
    if (*known != hash) return report_mismatch(sequence, status, payload);
    return note_again(sequence);
  }
  give_result(sequence, status, payload);
}

void Session::give_result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  const Results::Record record{status, 0, Results::hash_of(status, payload)};
  ResultBytes bytes{ResultBytes::kHere, payload.size(), {}};
  {
    const std::lock_guard lock(delivery_mutex_);
    if (!journal_.append(RecordKind::result, sequence, {std::as_bytes(std::span(&record, 1)), payload}, 0, 1,
                         &bytes.position)) {
      bytes.here.assign(payload.begin(), payload.end());  // owed from memory, as long as this worker lives
      shed_wanted_ = true;
    }
    results_.add(sequence, record, bytes);
    if (results_.count() > limits::kResults) shed_wanted_ = true;
    outbox_.result(status, sequence, std::move(bytes));
  }
  wake_held_back();
}

void Session::progress(uint64_t stream, uint64_t sequence) {
  if (!accepting_) return;
  progress_.done(stream, sequence);
  wake_replay();
  outbox_.progress(stream, sequence);
}

void Session::fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) {
  if (!accepting_) return;  // before the lock: a fence that waits for this thread may hold it
  {
    const std::lock_guard lock(mutex_);
    if (!runs() || !accepting_) return;
    accepting_ = false;
    state_ = State::faulted;
    changed_.notify_all();
  }
  board_.ring();
  host_.report_fault(request_.session, sequence, status, std::string(cause), std::string(message));
}

/// The service turns down a join when a recovery has begun that this session has not heard of yet. The fence
/// is on its way then, and gives the op up.
MeetingPlace Session::join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks, uint32_t rank) {
  const uint64_t epoch = epoch_;
  MeetingPlace place = host_.join(request_.session, unique_id, ranks, rank, epoch);
  if (!place.superseded) return place;
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return epoch_ != epoch || !runs() || stop_; });
  return place;
}

}  // namespace jitc

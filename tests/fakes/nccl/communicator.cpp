// See communicator.h.
#include "communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../over_driver/driver_calls.h"
#include "reduce.h"

namespace jitc::fakes {
namespace {
constexpr int kCaptureImplicit = 906;  // says only that another stream captures

const DriverCalls& driver() {
  const DriverCalls* calls = driver_calls();
  if (!calls) throw NcclFailure{kNcclUnhandledCudaError};
  return *calls;
}

/// Ranks of one host may not use the same device; NCCL_HOSTID says which host a process claims to be on.
uint64_t host_hash() {
  const char* text = std::getenv("NCCL_HOSTID");
  return std::hash<std::string>{}(text ? text : "");
}
}  // namespace

struct Communicator::Batch {
  CommunicatorPointer communicator;
  std::vector<Operation> operations;
  uint64_t ticket;
  bool in_graph;
};

Communicator::Communicator(int rank, int size, bool blocking, const Communicator* parent)
    : blocking(blocking), rank(rank), size(size) {
  if (parent) {
    context_ = parent->context_;
    device = parent->device;
  } else if (driver().get_current(&context_) != 0 || !context_ || driver().get_device(&device) != 0) {
    throw NcclFailure{kNcclUnhandledCudaError};
  }
  thread_ = std::thread([this] { serve(); });
}

Communicator::~Communicator() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void Communicator::serve() {
  driver().set_current(context_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const int result = job();
    lock.lock();
    if (result && !error_) error_ = result;
    --unfinished_;
    changed_.notify_all();
  }
}

void Communicator::start(std::function<int()> job) {
  const std::lock_guard lock(mutex_);
  ++unfinished_;
  jobs_.push_back(std::move(job));
  changed_.notify_all();
}

int Communicator::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !unfinished_ && !held_; });
  return error_;
}

int Communicator::state() {
  const std::lock_guard lock(mutex_);
  return unfinished_ || held_ ? int{kNcclInProgress} : error_;
}

void Communicator::set_error(int code, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = code;
  error_text_ = text;
}

void Communicator::abort() {
  aborted_ = true;
  std::unique_lock lock(mutex_);
  if (segment_) {
    segment_->slot(rank).aborted = 1;
    segment_->wake();
  }
  changed_.notify_all();
  changed_.wait(lock, [this] { return !performing_ && !unfinished_; });
  lock.unlock();
  wait_graphs();
}

/// The graph that the stream is captured into has operations of this communicator.
int Communicator::stay_for_graph(void* stream) {
  {
    const std::lock_guard lock(graphs_mutex_);
    ++graphs_;
  }
  if (driver().retain(stream, release_graph, this) == 0) return kNcclSuccess;
  release_graph(this);
  return kNcclUnhandledCudaError;
}

/// As NCCL does at the end of a communicator, whichever way it ends.
void Communicator::wait_graphs() {
  {
    std::unique_lock lock(graphs_mutex_);
    graphs_gone_.wait(lock, [this] { return graphs_ == 0; });
  }
  registrations_.drop();
}

/// A graph goes with the driver's lock held, so that what it had registered goes with the next operation:
/// outside of this lock, since that calls the driver. Only this thread's operations make graphs.
void Communicator::drop_stale() {
  {
    const std::lock_guard lock(graphs_mutex_);
    if (graphs_ != 0) return;
  }
  registrations_.drop();
}

void Communicator::release_graph(void* communicator) {
  auto& self = *static_cast<Communicator*>(communicator);
  const std::lock_guard lock(self.graphs_mutex_);
  --self.graphs_;
  self.graphs_gone_.notify_all();
}

/// A context with a sticky error runs nothing any more.
int Communicator::finish_streams() {
  std::unique_lock lock(mutex_);
  for (int capturing = 0; !aborted_ && finished_ != issued_;) {
    changed_.wait_for(lock, std::chrono::milliseconds(20));
    const int result = driver().is_capturing(nullptr, &capturing);
    if (result && result != kCaptureImplicit) return kNcclUnhandledCudaError;
  }
  return kNcclSuccess;
}

void Communicator::drain() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return aborted_ || !unfinished_; });
  }
  (void)finish();
}

int Communicator::finish() {
  const int result = finish_streams();
  wait_graphs();
  return result;
}

std::string Communicator::error_text() {
  const std::lock_guard lock(mutex_);
  return error_text_;
}

int Communicator::add_op(int type, bool on_device, const void* scalar) {
  const auto* bytes = static_cast<const std::byte*>(scalar);
  OwnOp own = {type, on_device, scalar, {}};
  if (!on_device) own.value.assign(bytes, bytes + size_of(type));
  const std::lock_guard lock(mutex_);
  own_ops_[next_op_] = std::make_shared<const OwnOp>(std::move(own));
  return next_op_++;
}

bool Communicator::remove_op(int op) {
  const std::lock_guard lock(mutex_);
  return own_ops_.erase(op) > 0;
}

std::shared_ptr<const OwnOp> Communicator::own_op(int op) {
  const std::lock_guard lock(mutex_);
  const auto found = own_ops_.find(op);
  return found == own_ops_.end() ? nullptr : found->second;
}

int Communicator::join(const ncclUniqueId& id) {
  auto segment = Segment::open(id, size);
  if (!segment) {
    set_error(kNcclSystemError, "the unique id cannot be joined");
    return kNcclSystemError;
  }
  RankSlot& own = segment->slot(rank);
  own.host = host_hash();
  own.process = ::getpid();
  driver().bus_id(own.bus, sizeof own.bus, device);
  {
    const std::lock_guard lock(mutex_);
    segment_ = std::move(segment);
    segment_->look = [this] { look_at_peers(); };
  }
  if (own.joined.exchange(1)) {
    set_error(kNcclInvalidUsage, "the rank joined already");
    return kNcclInvalidUsage;
  }
  segment_->wake();
  const bool all = segment_->wait(aborted_, [this] {
    for (int each = 0; each < size; ++each)
      if (!segment_->slot(each).joined) return false;
    return true;
  });
  return all ? refuse_duplicates() : int{kNcclInternalError};
}

int Communicator::refuse_duplicates() {
  for (int one = 0; one < size; ++one)
    for (int other = one + 1; other < size; ++other) {
      const RankSlot &left = segment_->slot(one), &right = segment_->slot(other);
      if (left.host != right.host || std::strcmp(left.bus, right.bus) != 0) continue;
      set_error(kNcclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(one) + " and rank " +
                                       std::to_string(other) + " both on CUDA device " + left.bus);
      return kNcclInvalidUsage;
    }
  return kNcclSuccess;
}

void Communicator::hold_state() {
  const std::lock_guard lock(mutex_);
  ++held_;
}

void Communicator::release_state(int result) {
  const std::lock_guard lock(mutex_);
  --held_;
  if (result && !error_) error_ = result;
  changed_.notify_all();
}

void Communicator::start_split(int color, int key, const CommunicatorPointer& child) {
  if (child) child->hold_state();
  start([this, color, key, child] {
    const int result = split(color, key, child);
    if (child) child->release_state(result);
    return result;
  });
}

/// The ranks tell each other color and key; the first of each color makes the unique id of the new
/// communicator.
int Communicator::split(int color, int key, const CommunicatorPointer& child) {
  struct Wish {
    int color, key;
    ncclUniqueId id;
  };
  std::vector<Wish> wishes(static_cast<size_t>(size));
  const auto tell = [&](const Wish& wish) {
    return round(
        0x5711, [&](std::byte* out) { std::memcpy(out, &wish, sizeof wish); },
        [&] {
          for (int each = 0; each < size; ++each)
            std::memcpy(&wishes[static_cast<size_t>(each)], segment_->exchange(each), sizeof(Wish));
        });
  };
  const bool entered = enter(issue(), false);
  Wish own = {color, key, {}};
  std::vector<int> members;
  bool told = entered && tell(own);
  for (int each = 0; told && each < size; ++each)
    if (color != kNoColor && wishes[static_cast<size_t>(each)].color == color) members.push_back(each);
  std::stable_sort(members.begin(), members.end(), [&](int left, int right) {
    return wishes[static_cast<size_t>(left)].key < wishes[static_cast<size_t>(right)].key;
  });
  if (!members.empty() && members.front() == rank) own.id = Segment::make();
  told = told && tell(own);
  if (entered) leave(false);
  if (!told) return kNcclInternalError;
  if (!child) return kNcclSuccess;
  child->size = static_cast<int>(members.size());
  child->rank = static_cast<int>(std::find(members.begin(), members.end(), rank) - members.begin());
  return child->join(wishes[static_cast<size_t>(members.front())].id);
}

uint64_t Communicator::issue() {
  const std::lock_guard lock(mutex_);
  return issued_++;
}

/// Operations run one after another in the order of calls, on whatever streams. A graph's run in between.
bool Communicator::enter(uint64_t ticket, bool in_graph) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return aborted_ || (!busy_ && (in_graph || finished_ == ticket)); });
  if (aborted_) return false;
  ++performing_;
  return busy_ = true;
}

void Communicator::leave(bool in_graph) {
  const std::lock_guard lock(mutex_);
  busy_ = false;
  --performing_;
  if (!in_graph) ++finished_;
  changed_.notify_all();
}

int Communicator::launch(void* stream, std::vector<Operation> operations) {
  int capturing = 0;
  if (driver().is_capturing(stream, &capturing) != 0) return kNcclUnhandledCudaError;
  const bool in_graph = capturing != 0;
  drop_stale();
  auto* batch = new Batch{shared_from_this(), std::move(operations), in_graph ? 0 : issue(), in_graph};
  if (in_graph) registrations_.add(batch->operations);
  if (driver().launch_host(stream, run, batch) == 0) return in_graph ? stay_for_graph(stream) : kNcclSuccess;
  if (!in_graph && enter(batch->ticket, false)) leave(false);
  delete batch;
  return kNcclUnhandledCudaError;
}

/// On the stream's thread. A graph may run again, so that its batch stays.
void Communicator::run(void* data) {
  auto* batch = static_cast<Batch*>(data);
  Communicator& communicator = *batch->communicator;
  if (communicator.enter(batch->ticket, batch->in_graph)) {
    communicator.perform(batch->operations);
    communicator.leave(batch->in_graph);
  }
  if (!batch->in_graph) delete batch;
}

}  // namespace jitc::fakes

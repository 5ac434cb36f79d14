// See communicator.h. Here: the keeper's way from the bootstrap to NCCL's communicator, and its end.
#include "communicator.h"

#include <utility>

#include "device/common/split.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr int64_t kSleep = 100'000;  // microseconds; only a safety net, the doorbell wakes
constexpr int64_t kPoll = 500;       // while NCCL works
constexpr std::chrono::milliseconds kWatch{100};
}  // namespace

Communicator::Communicator(CommunicatorContext& context, const Identity& identity, uint64_t sequence,
                           std::optional<Origin> origin)
    : context_(context),
      identity_(identity),
      known_(!origin),
      owed_(sequence),
      origin_(std::move(origin)),
      last_sequence_(sequence) {}

Communicator::~Communicator() {
  if (keeper_.joinable()) keeper_.join();
}

void Communicator::start(bool wanted) {
  wanted_ = wanted;
  keeper_ = std::thread([this] {
    keep();
    over_.store(true);
  });
}

void Communicator::keep() {
  try {
    context_.host.enter_context();
    if (take_identity()) {
      meet();
      connect();
      become(Stage::ready);
      deliver(kSuccess, origin_ ? split_result(identity_) : std::vector<std::byte>{});
      watch();
    }
  } catch (const OpError& error) {
    fail(error);
  } catch (const Abandoned&) {
    const std::string text = "the communicator was left before it was made";
    if (leaving_) deliver(kUnknown, std::as_bytes(std::span(text)));  // else a fence has come, or is about to
  } catch (const std::exception& error) {
    fail({kUnknown, "communicator", error.what()});
  }
  close();
}

/// False: this rank has no part in the split.
bool Communicator::take_identity() {
  if (!origin_) return true;
  Communicator& parent = *origin_->parent;
  NcclBootstrap& bootstrap = parent.await_turn(origin_->ticket, *this);
  Identity identity;
  try {
    identity = agree_on_split(bootstrap);
  } catch (const OpError&) {
    parent.pass_turn();  // those that come after it have their own answer
    throw;
  }
  parent.pass_turn();
  if (origin_->op.color < 0) {
    become(Stage::failed, {kUnknown, "communicator", "this rank has no part in the split communicator"});
    deliver(kSuccess, split_result({0, 0, -1, {}}));
    return false;
  }
  identity_ = identity;
  known_.store(true);
  return true;
}

/// Waits until all ranks of the parent have said what they want of the split.
Identity Communicator::agree_on_split(NcclBootstrap& bootstrap) {
  Communicator& parent = *origin_->parent;
  const uint64_t round = post(bootstrap);
  const Patience patience(context_.hang_seconds);
  for (;;) {
    const uint32_t seen = bootstrap.doorbell();
    check_aborted();
    if (bootstrap.missing(round).empty()) break;
    bootstrap.refuse_absent();
    if (patience.over()) refuse_late(bootstrap.missing(round), context_.hang_seconds);
    bootstrap.sleep(seen, kSleep);
  }
  std::vector<SplitPost> posts;
  for (uint32_t rank = 0; rank < parent.ranks(); ++rank) posts.push_back(bootstrap.post_of(rank, round));
  return split_identity(parent.identity(), posts, identity_.handle, origin_->op.color);
}

uint64_t Communicator::post(NcclBootstrap& bootstrap) {
  const Lock lock(mutex_);
  check_aborted();
  return bootstrap.post({origin_->op.color, origin_->op.key, origin_->op.header.sequence});
}

/// Waits until the parent's bootstrap can be used for the split with that ticket.
NcclBootstrap& Communicator::await_turn(uint64_t ticket, const Communicator& child) {
  Lock lock(mutex_);
  const auto mine = [&] { return stage_ == Stage::failed || (bootstrap_ && splits_done_ == ticket); };
  while (!changed_.wait_for(lock, kWatch, mine)) child.check_aborted();
  child.check_aborted();
  if (stage_ == Stage::failed && !bootstrap_) throw failure_;
  if (splits_done_ != ticket) throw Abandoned{};
  return *bootstrap_;
}

void Communicator::pass_turn() {
  const Lock lock(mutex_);
  ++splits_done_;
  changed_.notify_all();
}

void Communicator::meet() {
  std::string error;
  nccl_ = Nccl::open(context_.nccl_path, error);
  if (!nccl_) refuse(kNotSupported, "no-nccl", error);
  auto bootstrap = std::make_unique<NcclBootstrap>(ranks(), rank());
  bootstrap->join(context_.rendezvous, identity_);
  const Lock lock(mutex_);
  check_aborted();
  bootstrap_ = std::move(bootstrap);
  if (wanted_) bootstrap_->want();
  changed_.notify_all();
}

void Communicator::connect() {
  while (true) {
    token_ = NcclBootstrap::fresh_token();
    {
      const Lock lock(mutex_);  // not after a fence: the next attempt has the same slot
      check_going();
      bootstrap_->arrive(token_);
    }
    NcclUniqueId id;
    std::vector<uint64_t> tokens;
    agree(id, tokens);
    if (join(id, tokens)) return;
  }
}

/// Waits until rank 0 has given out an id for everybody who is there now, this rank's attempt included.
void Communicator::agree(NcclUniqueId& id, std::vector<uint64_t>& tokens) {
  while (true) {
    const uint32_t seen = bootstrap_->doorbell();
    check_going();
    bootstrap_->refuse_absent();
    if (rank() != 0) {
      if (bootstrap_->read(token_, id, tokens)) return;
    } else if (const auto present = bootstrap_->present(); present && bootstrap_->wanted()) {
      tokens = *present;
      refuse_result(nccl_->get_unique_id(&id));
      const Lock lock(mutex_);
      check_going();
      return bootstrap_->publish(id, tokens);
    }
    bootstrap_->sleep(seen, kSleep);
  }
}

/// Makes NCCL's communicator. False when a rank has left or come anew before it was ready.
bool Communicator::join(const NcclUniqueId& id, const std::vector<uint64_t>& tokens) {
  {
    const Lock lock(mutex_);
    check_aborted();
    inside_ = true;
  }
  NcclConfig config;
  config.blocking = 0;
  int result;
  {
    const Lock lock(calls_);
    result = nccl_->init_rank(&comm_, identity_.ranks, id, identity_.rank, &config);
    if (!comm_ && !unhealthy(result)) result = kNcclInternalError;
  }
  const Patience patience(context_.hang_seconds);
  while (result == kNcclInProgress) {
    const uint32_t seen = bootstrap_->doorbell();
    check_going();
    bootstrap_->refuse_absent();
    if (patience.over()) refuse(kUnknown, "hung-collective", "the communicator is not made in time");
    if ((result = this->result()) != kNcclInProgress) break;
    if (bootstrap_->present() != tokens) break;
    bootstrap_->sleep(seen, kPoll);
  }
  if (result == kNcclSuccess) return true;
  if (bootstrap_->present() == tokens) refuse_result(result);
  drop();
  return false;
}

void Communicator::watch() {
  const auto ended = [this] { return leaving_ || aborted_ || hang_injected_; };
  Lock lock(mutex_);
  while (!changed_.wait_for(lock, kWatch, ended)) {
    lock.unlock();
    const int found = result();
    if (hang_injected_) return;
    refuse_result(found);
    lock.lock();
  }
}

/// Whatever NCCL has of this communicator goes: after its work when the program is done with it, at once when
/// it never got ready. After a fault it stays until the fence: a collective that is given up lets its stream
/// go on, with whatever lies in memory.
void Communicator::close() {
  bool ready, inside, failed;
  {
    Lock lock(mutex_);
    ready = stage_ == Stage::ready;
    failed = stage_ == Stage::failed;
    inside = inside_;
    if (ready) changed_.wait(lock, [this] { return leaving_ || aborted_; });
  }
  // Others may still be on the way to where this rank has been: they get what NCCL says.
  if (bootstrap_ && !ready && !failed) bootstrap_->leave(token_);
  if (!inside) return;
  if (ready && !aborted_ && drain()) {
    const Lock lock(calls_);
    nccl_->destroy(std::exchange(comm_, nullptr));
  }
  drop();
}

/// Waits until the communicator's work is done; false when it is given up.
bool Communicator::drain() {
  int result;
  {
    const Lock lock(calls_);
    result = nccl_->finalize(comm_);
  }
  while (!unhealthy(result)) {
    if ((result = this->result()) == kNcclSuccess) return true;
    Lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::microseconds(kPoll), [this] { return aborted_.load(); }))
      return false;
  }
  return false;
}

void Communicator::drop() {
  {
    const Lock lock(calls_);
    if (comm_) nccl_->abort(std::exchange(comm_, nullptr));
  }
  const Lock lock(mutex_);
  inside_ = false;
  changed_.notify_all();
}

}  // namespace jitc::cuda

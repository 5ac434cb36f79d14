// See communicator.h. This part: the keeper's steps from the bootstrap to NCCL's communicator, and its end.
#include "communicator.h"

#include <utility>

#include "device/common/split.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr int64_t kSleep = 100'000;  // microseconds; only a safety net, the doorbell wakes
constexpr int64_t kPoll = 500;       // while NCCL works
constexpr std::chrono::milliseconds kWatch{100};

/// Throws if the program aborts the parent during a split.
void check_goes_on(const Communicator& parent) {
  if (parent.ends()) refuse(kUnknown, "communicator", "the communicator was aborted");
}
}  // namespace

/// Keeper: it meets the other ranks, makes NCCL's communicator, watches it, closes it. The communicator holds
/// what it shares with the dispatcher's thread.
class Communicator::Keeper {
 public:
  explicit Keeper(Communicator& of) : of_(of) {}
  void run();

 private:
  // Called in this order.
  bool take_identity();
  Identity agree_on_split(NcclBootstrap& bootstrap);
  uint64_t post(NcclBootstrap& bootstrap);
  void meet();
  void connect();
  void agree(NcclUniqueId& id, std::vector<uint64_t>& tokens);
  bool join(const NcclUniqueId& id, const std::vector<uint64_t>& tokens);
  void watch();
  void close();
  bool drain();

  Communicator& of_;
  uint64_t token_ = 0;  // of its attempt at the bootstrap
};

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
    Keeper(*this).run();
    over_.store(true);
  });
}

/// Waits until the parent's bootstrap can be used for the split with that ticket.
NcclBootstrap& Communicator::await_turn(uint64_t ticket, const Communicator& child) {
  Lock lock(mutex_);
  const auto mine = [&] { return stage_ == Stage::failed || (bootstrap_ && splits_done_ == ticket); };
  while (!changed_.wait_for(lock, kWatch, mine)) {
    child.check_aborted();
    check_goes_on(*this);
  }
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

// -- the keeper ----------------------------------------------------------------------------------------

void Communicator::Keeper::run() {
  try {
    of_.context_.host.enter_context();
    if (take_identity()) {
      meet();
      connect();
      of_.become(Stage::ready, {});
      of_.deliver(kSuccess, of_.origin_ ? split_result(of_.identity_) : std::vector<std::byte>{});
      watch();
    }
  } catch (const OpError& error) {
    of_.fail(error);
  } catch (const Abandoned&) {
    const std::string text = "the communicator was left before it was made";
    if (of_.leaving_ && !of_.ends_)
      of_.deliver(kUnknown, std::as_bytes(std::span(text)));  // else a fence has arrived, or is about to
  } catch (const std::exception& error) {
    of_.fail({kUnknown, "communicator", error.what()});
  }
  close();
  if (of_.ends_) of_.deliver(kSuccess, {});
}

/// Returns false if this rank has no part in the split.
bool Communicator::Keeper::take_identity() {
  if (!of_.origin_) return true;
  Communicator& parent = *of_.origin_->parent;
  NcclBootstrap& bootstrap = parent.await_turn(of_.origin_->ticket, of_);
  Identity identity;
  try {
    identity = agree_on_split(bootstrap);
  } catch (const OpError&) {
    parent.pass_turn();  // later splits have their own answers
    throw;
  }
  parent.pass_turn();
  if (of_.origin_->op.color < 0) {
    of_.become(Stage::failed, {kUnknown, "communicator", "this rank has no part in the split communicator"});
    of_.deliver(kSuccess, split_result({0, 0, -1, {}}));
    return false;
  }
  of_.identity_ = identity;
  of_.known_.store(true);
  return true;
}

/// Waits until all ranks of the parent have posted to the split.
Identity Communicator::Keeper::agree_on_split(NcclBootstrap& bootstrap) {
  Communicator& parent = *of_.origin_->parent;
  const uint64_t round = post(bootstrap);
  const Patience patience(of_.context_.hang_seconds);
  for (;;) {
    const uint32_t seen = bootstrap.doorbell();
    of_.check_aborted();
    check_goes_on(parent);
    if (bootstrap.missing(round).empty()) break;
    bootstrap.require_link();
    bootstrap.refuse_absent();
    if (patience.over()) refuse_late(bootstrap.missing(round), of_.context_.hang_seconds);
    bootstrap.sleep(seen, kSleep);
  }
  std::vector<SplitPost> posts;
  for (uint32_t rank = 0; rank < parent.ranks(); ++rank) posts.push_back(bootstrap.post_of(rank, round));
  return split_identity(parent.identity(), posts, of_.identity_.handle, of_.origin_->op.color);
}

uint64_t Communicator::Keeper::post(NcclBootstrap& bootstrap) {
  const Lock lock(of_.mutex_);
  of_.check_aborted();
  return bootstrap.post({of_.origin_->op.color, of_.origin_->op.key, of_.origin_->op.header.sequence});
}

void Communicator::Keeper::meet() {
  of_.handle_.open(of_.context_.nccl_path);
  auto bootstrap = std::make_unique<NcclBootstrap>(of_.ranks(), of_.rank());
  bootstrap->join(of_.context_.segments, of_.identity_);
  const Lock lock(of_.mutex_);
  of_.check_aborted();
  of_.bootstrap_ = std::move(bootstrap);
  if (of_.wanted_) of_.bootstrap_->want();
  of_.changed_.notify_all();
}

void Communicator::Keeper::connect() {
  while (true) {
    token_ = NcclBootstrap::fresh_token();
    {
      const Lock lock(of_.mutex_);  // not after a fence: the next attempt uses the same slot
      of_.check_going();
      of_.bootstrap_->arrive(token_);
    }
    NcclUniqueId id;
    std::vector<uint64_t> tokens;
    agree(id, tokens);
    if (join(id, tokens)) return;
  }
}

/// Waits until rank 0 has published an id for all present ranks, including this rank's attempt.
void Communicator::Keeper::agree(NcclUniqueId& id, std::vector<uint64_t>& tokens) {
  while (true) {
    const uint32_t seen = of_.bootstrap_->doorbell();
    of_.check_going();
    of_.bootstrap_->require_link();
    of_.bootstrap_->refuse_absent();
    if (of_.rank() != 0) {
      if (of_.bootstrap_->read(token_, id, tokens)) return;
    } else if (const auto present = of_.bootstrap_->present(); present && of_.bootstrap_->wanted()) {
      tokens = *present;
      of_.handle_.check(of_.handle_.nccl().get_unique_id(&id));
      const Lock lock(of_.mutex_);
      of_.check_going();
      return of_.bootstrap_->publish(id, tokens);
    }
    of_.bootstrap_->sleep(seen, kSleep);
  }
}

/// Makes NCCL's communicator. False when a rank has left or rejoined before it was ready.
bool Communicator::Keeper::join(const NcclUniqueId& id, const std::vector<uint64_t>& tokens) {
  {
    const Lock lock(of_.mutex_);
    of_.check_aborted();
    of_.inside_ = true;
  }
  int result = of_.handle_.make(of_.identity_.ranks, id, of_.identity_.rank);
  const Patience patience(of_.context_.hang_seconds);
  while (result == kNcclInProgress) {
    const uint32_t seen = of_.bootstrap_->doorbell();
    of_.check_going();
    of_.bootstrap_->require_link();
    of_.bootstrap_->refuse_absent();
    if (patience.over()) refuse(kUnknown, "hung-collective", "the communicator is not made in time");
    if ((result = of_.handle_.result()) != kNcclInProgress) break;
    if (of_.bootstrap_->present() != tokens) break;
    of_.bootstrap_->sleep(seen, kPoll);
  }
  if (result == kNcclSuccess) return true;
  if (of_.bootstrap_->present() == tokens) of_.handle_.check(result);
  of_.drop();
  return false;
}

void Communicator::Keeper::watch() {
  const auto ended = [this] { return of_.leaving_ || of_.aborted_ || of_.cut_; };
  Lock lock(of_.mutex_);
  while (!of_.changed_.wait_for(lock, kWatch, ended)) {
    lock.unlock();
    const int found = of_.handle_.result();
    if (of_.cut_) return;
    of_.bootstrap_->require_link();
    of_.handle_.check(found);
    lock.lock();
  }
}

/// Releases NCCL's resources of this communicator: after its work when the program is done with it, at once
/// if it was never ready. After a fault they stay until the fence: a collective that is given up lets its
/// stream continue with undefined memory.
void Communicator::Keeper::close() {
  bool ready, inside, failed;
  {
    Lock lock(of_.mutex_);
    ready = of_.stage_ == Stage::ready;
    failed = of_.stage_ == Stage::failed;
    inside = of_.inside_;
    if (ready) of_.changed_.wait(lock, [this] { return of_.leaving_ || of_.aborted_; });
  }
  // Others may still be on the way to this rank's point: they get NCCL's result.
  if (of_.bootstrap_ && !ready && !failed) of_.bootstrap_->leave(token_);
  if (!inside) return;
  if (ready && !of_.aborted_ && !of_.ends_ && drain()) of_.handle_.destroy();
  of_.drop();
}

/// Waits until the communicator's work is done; false when that is given up.
bool Communicator::Keeper::drain() {
  int result = of_.handle_.finalize();
  while (!unhealthy(result)) {
    if ((result = of_.handle_.result()) == kNcclSuccess) return true;
    Lock lock(of_.mutex_);
    if (of_.changed_.wait_for(lock, std::chrono::microseconds(kPoll),
                              [this] { return of_.aborted_ || of_.ends_; }))
      return false;
  }
  return false;
}

}  // namespace jitc::cuda

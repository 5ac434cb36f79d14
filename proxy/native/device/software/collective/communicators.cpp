// See communicators.h.
#include "communicators.h"

#include <string_view>
#include <utility>

#include "collective_group.h"
#include "device/common/patience.h"
#include "device/common/split.h"
#include "device/software/errors/error.h"

namespace jitc::software {
namespace {
constexpr int32_t kMostRanks = device::SegmentHead::kMostRanks;
constexpr int64_t kSleep = 100'000;  // microseconds; the doorbell wakes earlier
constexpr uint64_t kNoResult = 0;    // sequences start at 1

/// Throws if the program aborts the parent during a split.
void check_goes_on(const Communicator& parent) {
  if (parent.ending.ends()) refuse(kUnknown, "communicator", "the communicator was aborted");
}

/// Requires a complete round of the parent.
std::vector<SplitPost> posts_of(const Communicator& parent, const Rounds& rounds) {
  std::vector<SplitPost> posts;
  for (uint32_t rank = 0; rank < parent.ranks(); ++rank) {
    const Descriptor& said = rounds.descriptor(rank);
    posts.push_back({said.color, said.key, said.sequence});
  }
  return posts;
}
}  // namespace

Communicators::~Communicators() {
  abort();
  for (Helper& helper : helpers_) helper.thread.join();
}

Communicators::Pointer Communicators::add(const Identity& identity, bool known, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (table_.contains(identity.handle))
    refuse_handle("communicator " + hex(identity.handle) + " exists already");
  auto communicator = std::make_shared<Communicator>(identity, known);
  expect_end(*communicator, identity.handle, sequence);
  table_.emplace(identity.handle, communicator);
  std::erase_if(all_, [](const auto& other) { return other.expired(); });
  all_.push_back(communicator);
  return communicator;
}

Communicators::Pointer Communicators::get(uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(handle);
  if (found == table_.end()) refuse_handle("communicator " + hex(handle) + " does not exist");
  return found->second;
}

void Communicators::remove(const Pointer& communicator) {
  const std::lock_guard lock(mutex_);
  std::erase_if(table_, [&](const auto& entry) { return entry.second == communicator; });
}

bool Communicators::find(uint64_t handle, Identity& out) const {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(handle);
  if (found == table_.end() || !found->second->known()) return false;
  out = found->second->identity();
  out.handle = handle;
  return true;
}

void Communicators::create(const ops::CommunicatorCreate& op) {
  if (op.ranks < 1 || op.ranks > kMostRanks || op.rank < 0 || op.rank >= op.ranks)
    refuse_value("rank " + std::to_string(op.rank) + " of " + std::to_string(op.ranks));
  auto communicator = add({op.handle, op.ranks, op.rank, op.unique_id}, true, op.header.sequence);
  if (op.ranks == 1) return sink_.result(op.header.sequence, kSuccess, {});
  communicator->claim_join();
  start(op.header.sequence, communicator, [this, communicator] {
    communicator->join(segments_, hub_);
    communicator->wait_joined();
    return std::vector<std::byte>{};
  });
}

void Communicators::split(const ops::CommunicatorSplit& op) {
  const Pointer parent = get(op.parent);
  auto child = add({op.handle, 0, -1, {}}, false, op.header.sequence);
  child->claim_join();
  const uint64_t ticket = parent->splits.ticket();
  start(op.header.sequence, child,
        [this, op, parent, ticket, child] { return join_split(op, *parent, ticket, child); });
}

/// Waits until all ranks of the parent have posted to the split.
void Communicators::gather(Communicator& parent, const Rounds& rounds) const {
  const Patience patience(hang_seconds_);
  while (true) {
    const uint32_t seen = parent.doorbell();
    parent.check_aborted();
    check_goes_on(parent);
    parent.segment().require_link();
    for (const uint32_t rank : rounds.missing())
      if (parent.segment().absent(rank) && !rounds.complete()) parent.segment().refuse_absent();
    if (rounds.complete()) return;
    if (patience.over()) refuse_late(rounds.missing(), hang_seconds_);
    parent.segment().sleep(seen, kSleep);
  }
}

Identity Communicators::agree_on_split(const ops::CommunicatorSplit& op, Communicator& parent) {
  parent.join(segments_, hub_);
  parent.check_aborted();  // a helper from before a fence must not touch the new epoch's segment
  Rounds rounds(parent, kSplits);
  rounds.publish({.color = op.color, .key = op.key, .sequence = op.header.sequence});
  gather(parent, rounds);
  return split_identity(parent.identity(), posts_of(parent, rounds), op.handle, op.color);
}

std::vector<std::byte> Communicators::join_split(const ops::CommunicatorSplit& op, Communicator& parent,
                                                 uint64_t ticket, const Pointer& child) {
  parent.wait_known(hub_);
  if (!parent.await_turn(parent.splits, ticket, hub_)) check_goes_on(parent);
  Identity identity;
  try {
    identity = agree_on_split(op, parent);
  } catch (const OpError&) {
    parent.splits.pass(hub_);  // later splits have their own answers
    throw;
  }
  parent.splits.pass(hub_);
  if (op.color < 0) {
    child->fail({kUnknown, "communicator", "this rank has no part in the split communicator"}, hub_);
    remove(child);
    return split_result({0, 0, -1, {}});
  }
  child->become(identity, hub_);
  child->join(segments_, hub_);
  child->wait_joined();
  return split_result(identity);
}

void Communicators::destroy(const ops::CommunicatorDestroy& op) { remove(get(op.handle)); }

std::shared_ptr<Group> Communicators::group(const ops::Collective& op) {
  auto group = std::make_shared<Group>(op);
  for (const ops::CollectiveItem& item : group->items()) group->add(get(item.comm));
  for (const ops::CollectiveItem& item : group->items()) start_join(get(item.comm));
  group->take_tickets();
  return group;
}

void Communicators::run(Group& group, const Memory& memory, const device::Residency& residency) {
  group.run(memory, residency, sink_, hub_);
}

void Communicators::impair(const ops::Collective& op, Impairment::Kind how) {
  const Group group(op);
  for (const ops::CollectiveItem& item : group.items()) get(item.comm)->link.set(how);
}

/// Joins a communicator at its first op after restore. Not on the stream's thread, which a fence would have
/// to wait for.
void Communicators::start_join(const Pointer& communicator) {
  if (!communicator->claim_join()) return;
  start(kNoResult, communicator, [this, communicator] {
    communicator->join(segments_, hub_);
    return std::vector<std::byte>{};
  });
}

void Communicators::start(uint64_t sequence, Pointer communicator, Work work,
                          std::function<void()> delivered) {
  const std::lock_guard starting(starting_);
  for (auto helper = helpers_.begin(); helper != helpers_.end();) {
    if (!helper->over->load()) {
      ++helper;
      continue;
    }
    helper->thread.join();
    helper = helpers_.erase(helper);
  }
  const auto over = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<Generation> generation;
  {
    const std::lock_guard lock(counting_);
    generation = generation_;
  }
  generation->working.fetch_add(1);
  helpers_.push_back({std::thread([=, this, communicator = std::move(communicator), work = std::move(work),
                                   delivered = std::move(delivered)] {
                        help(generation, sequence, communicator, work, delivered);
                        over->store(true);
                      }),
                      over});
}

void Communicators::help(const std::shared_ptr<Generation>& generation, uint64_t sequence,
                         const Pointer& communicator, const Work& work,
                         const std::function<void()>& delivered) {
  const auto failed = [&](const OpError& error) {
    const bool is_fault = error.cause == std::string_view("collective-error");
    if (is_fault) fault(generation, sequence, error);
    communicator->fail(error, hub_);
    remove(communicator);
    if (!is_fault) deliver(generation, sequence, error.status, std::as_bytes(std::span(error.message)));
  };
  try {
    deliver(generation, sequence, kSuccess, work());
    if (delivered) delivered();
  } catch (const OpError& error) {
    failed(error);
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    failed({kUnknown, "communicator", error.what()});
  }
  generation->working.fetch_sub(1);
  hub_.changed();
}

bool Communicators::quiet() const {
  const std::lock_guard lock(counting_);
  return generation_->working.load() == 0;
}

void Communicators::deliver(const std::shared_ptr<Generation>& generation, uint64_t sequence, uint32_t status,
                            std::span<const std::byte> payload) {
  if (sequence == kNoResult || !generation->begin_delivery()) return;
  sink_.result(sequence, status, payload);
  generation->end_delivery();
}

/// Faults the device: ranks that cannot be reached are no answer for the program.
void Communicators::fault(const std::shared_ptr<Generation>& generation, uint64_t sequence,
                          const OpError& error) {
  if (!generation->begin_delivery()) return;
  failures_.fault(sequence, error);
  generation->end_delivery();
}

bool Communicators::Generation::begin_delivery() {
  const std::lock_guard lock(mutex_);
  if (over_) return false;
  ++deliveries_;
  return true;
}

void Communicators::Generation::end_delivery() {
  const std::lock_guard lock(mutex_);
  if (--deliveries_ == 0) delivered_.notify_all();
}

void Communicators::Generation::end() {
  std::unique_lock lock(mutex_);
  over_ = true;
  delivered_.wait(lock, [this] { return deliveries_ == 0; });
}

void Communicators::abort() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& weak : all_)
      if (const Pointer communicator = weak.lock()) communicator->abort();
  }
  hub_.changed();
}

void Communicators::renew() {
  std::vector<Identity> same;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, communicator] : table_)
      if (communicator->known()) same.push_back(communicator->identity());
  }
  restore(same);
}

void Communicators::restore(const std::vector<Identity>& wanted) {
  abort();  // also communicators of an op in preparation during the first abort
  const auto next = std::make_shared<Generation>();
  std::shared_ptr<Generation> earlier;
  {
    const std::lock_guard lock(counting_);
    earlier = std::exchange(generation_, next);
  }
  earlier->end();
  {
    const std::lock_guard lock(mutex_);
    table_.clear();
  }
  for (const Identity& identity : wanted) add(identity, true, kNoResult);
}

}  // namespace jitc::software

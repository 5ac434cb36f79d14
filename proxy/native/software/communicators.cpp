// See communicators.h.
#include "communicators.h"

#include "../device/split.h"
#include "collective_group.h"
#include "error.h"

namespace jitc::software {
namespace {
constexpr int32_t kMostRanks = 1024;
constexpr uint64_t kNoResult = 0;  // sequences start at 1

/// The parent's round is complete.
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

Communicators::Pointer Communicators::add(const Identity& identity, bool known) {
  const std::lock_guard lock(mutex_);
  if (table_.contains(identity.handle))
    refuse_handle("communicator " + hex(identity.handle) + " exists already");
  auto communicator = std::make_shared<Communicator>(identity, known);
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
  auto communicator = add({op.handle, op.ranks, op.rank, op.unique_id}, true);
  if (op.ranks == 1) return sink_.result(op.header.sequence, kSuccess, {});
  communicator->claim_join();
  start(op.header.sequence, communicator, [this, communicator] {
    communicator->join(rendezvous_, hub_);
    communicator->wait_joined();
    return std::vector<std::byte>{};
  });
}

void Communicators::split(const ops::CommunicatorSplit& op) {
  const Pointer parent = get(op.parent);
  auto child = add({op.handle, 0, -1, {}}, false);
  child->claim_join();
  const uint64_t ticket = parent->splits.ticket();
  start(op.header.sequence, child,
        [this, op, parent, ticket, child] { return join_split(op, *parent, ticket, child); });
}

std::vector<std::byte> Communicators::join_split(const ops::CommunicatorSplit& op, Communicator& parent,
                                                 uint64_t ticket, const Pointer& child) {
  parent.wait_known(hub_);
  if (!parent.splits.wait(hub_, ticket)) throw Abandoned{};
  parent.join(rendezvous_, hub_);
  parent.check_aborted();  // a helper of before a fence must leave the new epoch's segment alone
  Rounds rounds(parent, kSplits);
  rounds.publish({.color = op.color, .key = op.key, .sequence = op.header.sequence});
  while (true) {
    const uint32_t seen = parent.doorbell();
    parent.check_aborted();
    if (rounds.complete()) break;
    parent.segment().sleep(seen, 100'000);
  }
  const Identity identity = split_identity(parent.identity(), posts_of(parent, rounds), op.handle, op.color);
  parent.splits.pass(hub_);
  if (op.color < 0) {
    child->fail("this rank has no part in the split communicator", hub_);
    remove(child);
    return split_result({0, 0, -1, {}});
  }
  child->become(identity, hub_);
  child->join(rendezvous_, hub_);
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

void Communicators::run(Group& group, const Memory& memory) { group.run(memory, sink_, hub_); }

/// After restore: the first op on a communicator has it joined. Not on the stream's thread, which a fence
/// would have to wait for.
void Communicators::start_join(const Pointer& communicator) {
  if (!communicator->claim_join()) return;
  start(kNoResult, communicator, [this, communicator] {
    communicator->join(rendezvous_, hub_);
    return std::vector<std::byte>{};
  });
}

void Communicators::start(uint64_t sequence, Pointer communicator, Work work) {
  for (auto helper = helpers_.begin(); helper != helpers_.end();) {
    if (!helper->over->load()) {
      ++helper;
      continue;
    }
    helper->thread.join();
    helper = helpers_.erase(helper);
  }
  working_.fetch_add(1);
  const auto over = std::make_shared<std::atomic<bool>>(false);
  uint64_t generation;
  {
    const std::lock_guard lock(delivering_);
    generation = generation_;
  }
  helpers_.push_back({std::thread([=, this, communicator = std::move(communicator), work = std::move(work)] {
                        help(generation, sequence, communicator, work);
                        over->store(true);
                      }),
                      over});
}

void Communicators::help(uint64_t generation, uint64_t sequence, const Pointer& communicator,
                         const Work& work) {
  const auto failed = [&](uint32_t status, const std::string& message) {
    communicator->fail(message, hub_);
    remove(communicator);
    deliver(generation, sequence, status, std::as_bytes(std::span(message)));
  };
  try {
    deliver(generation, sequence, kSuccess, work());
  } catch (const OpError& error) {
    failed(error.status, error.message);
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    failed(kUnknown, error.what());
  }
  working_.fetch_sub(1);
  hub_.changed();
}

void Communicators::deliver(uint64_t generation, uint64_t sequence, uint32_t status,
                            std::span<const std::byte> payload) {
  const std::lock_guard lock(delivering_);
  if (generation == generation_ && sequence != kNoResult) sink_.result(sequence, status, payload);
}

void Communicators::abort() {
  const std::lock_guard lock(mutex_);
  for (const auto& weak : all_)
    if (const Pointer communicator = weak.lock()) communicator->abort();
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
  {
    const std::lock_guard lock(delivering_);
    ++generation_;
  }
  {
    const std::lock_guard lock(mutex_);
    table_.clear();
  }
  for (const Identity& identity : wanted) add(identity, true);
}

}  // namespace jitc::software

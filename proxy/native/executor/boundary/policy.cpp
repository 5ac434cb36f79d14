#include "policy.h"

#include <vector>

#include "executor/state/packer.h"

namespace jitc {
namespace {
void put(Packer& packer, const std::set<uint64_t>& set) {
  packer.put_all(std::vector<uint64_t>(set.begin(), set.end()));
}
std::set<uint64_t> get(Unpacker& unpacker) {
  const auto list = unpacker.get_all<uint64_t>();
  return {list.begin(), list.end()};
}
}  // namespace

void Policy::pack(Packer& packer) const {
  packer.put<uint64_t>(copy_all);
  packer.put<uint64_t>(barrier);
  packer.put(measure_every);
  packer.put(make_every);
  packer.put(reserve);
  packer.put(next_reserve);
  put(packer, mutable_ordinals);
  put(packer, rank_local_ordinals);
  put(packer, classified_ordinals);
}

Policy Policy::unpack(Unpacker& unpacker) {
  Policy policy;
  policy.copy_all = unpacker.get<uint64_t>() != 0;
  policy.barrier = unpacker.get<uint64_t>() != 0;
  policy.measure_every = unpacker.get<uint64_t>();
  policy.make_every = unpacker.get<uint64_t>();
  policy.reserve = unpacker.get<uint64_t>();
  policy.next_reserve = unpacker.get<uint64_t>();
  policy.mutable_ordinals = get(unpacker);
  policy.rank_local_ordinals = get(unpacker);
  policy.classified_ordinals = get(unpacker);
  return policy;
}

Plan::Pointer Plan::wanted() const {
  const std::lock_guard lock(mutex_);
  return wanted_;
}

void Plan::want(Policy policy) {
  const std::lock_guard lock(mutex_);
  if (policy.peer_mode() && wanted_->peer_mode())
    for (const uint64_t one : wanted_->mutable_ordinals) policy.mutable_ordinals.insert(one);
  policy.make_every = wanted_->make_every;
  wanted_ = std::make_shared<Policy>(std::move(policy));
}

void Plan::space(uint64_t every) {
  const std::lock_guard lock(mutex_);
  auto spaced = std::make_shared<Policy>(*wanted_);
  spaced->make_every = every;
  wanted_ = std::move(spaced);
}

void Plan::learn_mutable(const std::vector<uint64_t>& ordinals) {
  const std::lock_guard lock(mutex_);
  auto wiser = std::make_shared<Policy>(*wanted_);
  wiser->mutable_ordinals.insert(ordinals.begin(), ordinals.end());
  wanted_ = current_ = std::move(wiser);
}

void Plan::adopt(Policy policy) {
  const std::lock_guard lock(mutex_);
  wanted_ = current_ = std::make_shared<Policy>(std::move(policy));
}

}  // namespace jitc

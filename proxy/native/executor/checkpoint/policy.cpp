#include "policy.h"

#include <vector>

#include "executor/state/resources.h"

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
  put(packer, volatile_ordinals);
  put(packer, unique_ordinals);
  put(packer, known_ordinals);
}

Policy Policy::unpack(Unpacker& unpacker) {
  Policy policy;
  policy.copy_all = unpacker.get<uint64_t>() != 0;
  policy.barrier = unpacker.get<uint64_t>() != 0;
  policy.measure_every = unpacker.get<uint64_t>();
  policy.volatile_ordinals = get(unpacker);
  policy.unique_ordinals = get(unpacker);
  policy.known_ordinals = get(unpacker);
  return policy;
}

}  // namespace jitc

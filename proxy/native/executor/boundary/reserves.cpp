#include "reserves.h"

#include <algorithm>

#include "executor/journal/journal.h"

namespace jitc {

uint64_t count_after(const Boundaries& boundaries, uint64_t number) {
  return static_cast<uint64_t>(
      std::ranges::count_if(boundaries, [&](const BoundaryState& one) { return one.number > number; }));
}

std::vector<uint64_t> reserves_in(const Boundaries& boundaries, const Policy& policy) {
  std::vector<uint64_t> numbers;
  for (const BoundaryState& one : boundaries)
    if (policy.reserves(one.number) && one.whole()) numbers.push_back(one.number);
  return numbers;
}

bool Reserves::stays(const BoundaryState& one, uint64_t first, const Policy& policy) const {
  return one.number >= first || (one.number > given_up_ && policy.reserves(one.number) && one.whole());
}

void Reserves::name_first(Journal& journal, uint64_t first, const Boundaries& boundaries,
                          const Policy& policy) const {
  Journal::Reserves numbers{};
  size_t count = 0;
  for (const BoundaryState& one : boundaries)
    if (one.number < first && count < numbers.size() && stays(one, first, policy))
      numbers[count++] = one.number;
  journal.set_first_boundary(first, numbers);
}

}  // namespace jitc

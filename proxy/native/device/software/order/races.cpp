// See races.h.
#include "races.h"

#include <algorithm>

namespace jitc::software::order {
namespace {
/// Splits the site: its first line is PyTorch's operator, the rest the call site.
Race::Side side(const AccessMap::Access& access) {
  const Operation& op = *access.op;
  Race::Side made{op.name, {}, {}, op.stream, op.sequence, access.writes};
  if (!op.site) return made;
  const size_t line = std::min(op.site->find('\n'), op.site->size());
  made.operator_name = op.site->substr(0, line);
  if (line < op.site->size()) made.place = op.site->substr(line + 1);
  return made;
}

std::string key(const Race::Side& side) { return side.name + '\n' + side.operator_name + '\n' + side.place; }
}  // namespace

void Races::add(const AccessMap::Access& before, const AccessMap::Access& now) {
  if (seen_.size() >= kMost) return;
  Race race{side(before), side(now), 0, 0};
  if (!seen_.insert(key(race.first) + '\f' + key(race.second)).second) return;
  const Region &one = *before.region, &other = *now.region;
  race.address = std::max(one.begin(), other.begin());
  race.bytes = std::min(one.end(), other.end()) - race.address;
  sink_.race(race);
}

}  // namespace jitc::software::order

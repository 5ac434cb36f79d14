// Returns the values of a map, in the order of its keys. Called by: lists of resources.
#pragma once
#include <vector>

namespace jitc {

template <class Map>
auto values(const Map& map) {
  std::vector<typename Map::mapped_type> list;
  list.reserve(map.size());
  for (const auto& entry : map) list.push_back(entry.second);
  return list;
}

}  // namespace jitc

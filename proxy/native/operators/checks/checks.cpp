#include "operators/checks/checks.h"

#include <unordered_map>

namespace jitc::operators {
namespace {

using Table = std::unordered_map<std::string_view, Check>;

Table make_table() {
  Table table;
  for (const auto part : {composed_checks(), index_checks(), norm_checks(), size_checks(), window_checks()})
    for (const auto& [name, check] : part) table.emplace(name, check);
  return table;
}

}  // namespace

Check find_check(std::string_view name) {
  static const Table& table = *new Table(make_table());
  name.remove_prefix(std::min(name.size(), std::string_view("aten::").size()));
  const auto found = table.find(name.substr(0, name.find('.')));
  return found == table.end() ? nullptr : found->second;
}

}  // namespace jitc::operators

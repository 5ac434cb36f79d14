// Pairs of ops that conflict, each pair of operators and call sites once.
//
// Promise: if a program conflicts everywhere, at most kMost are kept and reported.
// Called by: Checker.
#pragma once
#include <cstddef>
#include <set>
#include <string>

#include "access_map.h"
#include "device/sink.h"

namespace jitc::software::order {

class Races {
 public:
  static constexpr size_t kMost = 1000;
  explicit Races(ExecutionSink& sink) : sink_(sink) {}
  void add(const AccessMap::Access& before, const AccessMap::Access& now);

 private:
  ExecutionSink& sink_;
  std::set<std::string> seen_;
};

}  // namespace jitc::software::order

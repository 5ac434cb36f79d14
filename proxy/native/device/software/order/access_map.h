// Latest accesses to memory: pieces with the accesses that a later one may conflict with.
//
// Only the newest of accesses that are ordered one behind the other is kept: an access not ordered behind the
// older one is not ordered behind the newer one either, and is reported with it.
// Lock rule: the device's mutex. Called by: Checker, in the order of the ops.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"
#include "region.h"

namespace jitc::software::order {

/// Op, as a report names it.
struct Operation {
  uint64_t sequence, stream;  // as in the program
  uint32_t number;            // of the stream, in clocks
  std::string name;
  std::shared_ptr<const std::string> site;  // null: unknown
};
using OperationPointer = std::shared_ptr<const Operation>;

class AccessMap {
 public:
  struct Access {
    OperationPointer op;
    std::shared_ptr<const Region> region;
    bool writes;
  };
  /// Reports that `before` is not ordered before the new access.
  using Conflict = std::function<void(const Access& before, const Access& now)>;

  explicit AccessMap(Conflict conflict) : conflict_(std::move(conflict)) {}
  /// Adds one operand of an op; those that are read come first. past: work completed when the op runs.
  void take(const OperationPointer& op, const Clock& past, Region region, bool writes);
  /// Forgets these bytes.
  void forget(uint64_t begin, uint64_t end);
  /// Forgets everything before the clock, now and then; also the oldest accesses if there are too many.
  void sweep(const Clock& host);
  size_t pieces() const { return pieces_.size(); }

 private:
  struct Piece {
    uint64_t end;
    std::vector<Access> accesses;
  };
  using Pieces = std::map<uint64_t, Piece>;  // by first address; they do not overlap
  Pieces::iterator cut(uint64_t at);
  void compare(const std::vector<Access>& before, const Access& now, const Clock& past);
  static void add(std::vector<Access>& accesses, const Access& now, const Clock& past);
  void fill_gaps(const Access& now);
  template <class Over>
  void drop(Over over);

  const Conflict conflict_;
  Pieces pieces_;
  size_t swept_ = 0;  // pieces that the last sweep left
};

}  // namespace jitc::software::order

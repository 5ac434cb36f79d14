// Memory that an op reads and writes, and its name in a report.
//
// Promises: an op that the device refuses, or that is not understood, has no operands; only the op's record
// is read. Called by: Checker.
#pragma once
#include <string>
#include <vector>

#include "device/software/blas/operators.h"
#include "device/software/collective/communicators.h"
#include "jitc/generated_ops.h"
#include "region.h"

namespace jitc::software::order {

struct Operand {
  Region region;
  bool writes;
};
using Operands = std::vector<Operand>;

class OperandReader {
 public:
  OperandReader(const Operators& operators, const Communicators& communicators)
      : operators_(operators), communicators_(communicators) {}
  /// Returns the operands; those that are read come first.
  Operands operands(const ops::OpHeader& op) const;
  static std::string name(const ops::OpHeader& op);

 private:
  void collective(const ops::Collective& op, Operands& out) const;
  void item(const ops::CollectiveItem& item, Operands& out) const;
  void calls(const ops::OpHeader& op, Operands& out) const;

  const Operators& operators_;
  const Communicators& communicators_;
};

}  // namespace jitc::software::order

// Finds ops that touch the same bytes with no order between them (README.md).
//
// Promises: its reports follow from the ops and their order alone; ops repeated by a replay are not checked
// again. Lock rule: the device's mutex. Called by: Device, with each op before it is executed.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "access_map.h"
#include "operands.h"
#include "races.h"
#include "timeline.h"

namespace jitc::software::order {

class Checker {
 public:
  Checker(std::shared_ptr<const Operators> operators, const Communicators& communicators,
          ExecutionSink& sink);
  void take(const ops::OpHeader& op);
  /// Enters the streams that existed before this worker's first op.
  void restore(const std::vector<Resources::Stream>& streams);

 private:
  bool note(const ops::OpHeader& op);
  bool order(const ops::OpHeader& op);
  void touch(const ops::OpHeader& op);
  void site(const ops::OrderSite& op);
  OperationPointer operation(const ops::OpHeader& op, uint32_t stream) const;
  void new_memory(uint64_t address, uint64_t bytes);
  void host_side(const ops::OpHeader& op, Operands& operands);

  const std::shared_ptr<const Operators> operators_;
  OperandReader reader_;
  Races races_;
  Timeline timeline_;
  AccessMap map_;
  uint64_t newest_ = 0;  // sequence
  std::shared_ptr<const std::string> site_;
  std::unordered_map<uint64_t, Operand> host_;   // of the next copy on each stream
  std::unordered_set<uint64_t> unasked_;         // streams whose next wait does not count
  std::unordered_map<uint64_t, uint64_t> held_;  // bytes of memory without an address, by its handle
};

}  // namespace jitc::software::order

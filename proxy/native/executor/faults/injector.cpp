#include "injector.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/operands.h"
#include "executor/journal/wire.h"
#include "jitc/generated_faults.h"
#include "jitc/generated_op_traits.h"

namespace jitc {
namespace {
using ops::kPhases, ops::kPoints;

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::string_view phase_of(const ops::OpHeader& op) {
  return kPhases[std::min<size_t>((op.flags & ops::kPhaseMask) >> ops::kPhaseShift, kPhases.size() - 1)];
}

/// Returns the point that the op will pass.
std::string_view point_of(const ops::OpHeader& op) {
  const ops::Point point = ops::traits(static_cast<ops::OpId>(op.op)).point;
  return point == ops::Point::none ? "" : kPoints[static_cast<size_t>(point) - 1];
}

/// Returns whether the fault's trigger is here. Counts down what has to pass first. A fault of the device is
/// reported to it before it gets the op, so such faults know points by the op that will pass them.
bool reached(Fault& fault, const ops::OpHeader& op, std::string_view point, uint64_t boundary) {
  if (fault.of_device()) {
    if (!point.empty()) return false;
    if (contains(kPoints, fault.phase)) point = point_of(op);
    if (fault.waits_for_collective() && point_of(op) != "collective") return false;
  }
  if (fault.sequence) return point.empty() && op.sequence >= fault.sequence;
  if (fault.operations) return point.empty() && --fault.operations == 0;
  if ((fault.armed_at_boundary || fault.boundary) && fault.boundary != boundary) return false;
  const bool here = contains(kPoints, fault.phase)
                        ? point == fault.phase
                        : point.empty() && (fault.phase.empty() || fault.phase == phase_of(op));
  if (!here) return false;
  if (!fault.skip) return true;
  --fault.skip;
  return false;
}
/// Returns the first collective of an op, in parentheses; empty for other ops.
std::string collective_of(const ops::OpHeader& op) {
  if (static_cast<ops::OpId>(op.op) != ops::OpId::collective) return {};
  const auto& group = as<ops::Collective>(op);
  if (!group.count) return {};
  const uint32_t kind = reinterpret_cast<const ops::CollectiveItem*>(&group + 1)->kind;
  return kind < ops::kCollectiveNames.size() ? " (" + std::string(ops::kCollectiveNames[kind]) + ")" : "";
}
}  // namespace

bool Fault::of_device() const {
  const ops::FaultKind* const known = ops::find_fault(kind);
  return known && known->carrier == ops::FaultCarrier::device;
}

bool Fault::waits_for_collective() const {
  const ops::FaultKind* const known = ops::find_fault(kind);
  return known && known->collective;
}

void Injector::check(const Fault& fault) {
  if (!ops::find_fault(fault.kind)) throw Error("unknown fault \"" + fault.kind + "\"");
  if (!fault.phase.empty() && !contains(kPhases, fault.phase) && !contains(kPoints, fault.phase))
    throw Error("unknown phase \"" + fault.phase +
                "\": forward, backward, optimizer, collective, copy or boundary");
}

void Injector::arm(const Fault& fault) {
  check(fault);
  const std::lock_guard lock(mutex_);
  faults_.push_back(fault);
  armed_.store(true);
}

std::optional<Fault> Injector::match(const ops::OpHeader& op, std::string_view point, uint64_t boundary) {
  const std::lock_guard lock(mutex_);
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    const Fault asked = *fault;
    if (!reached(*fault, op, point, boundary)) continue;
    faults_.erase(fault);
    armed_.store(!faults_.empty());
    return asked;
  }
  return std::nullopt;
}

std::string Injector::describe(const Fault& fault, const ops::OpHeader* op, uint64_t boundary) {
  std::string text = fault.kind + " fired";
  if (!op) return text + " at once";
  text += " at " + wire::op_name(op->op) + collective_of(*op) + ", sequence " + std::to_string(op->sequence);
  return text + ", after boundary " + std::to_string(boundary) + ", phase " + std::string(phase_of(*op));
}

}  // namespace jitc

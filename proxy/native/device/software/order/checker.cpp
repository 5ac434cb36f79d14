// See checker.h.
#include "checker.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "device/common/error.h"
#include "device/common/operands.h"
#include "jitc/generated_op_traits.h"

namespace jitc::software::order {
namespace {
bool copies_host_memory(const ops::OpHeader& op) {
  return ops::as_if<ops::CopyH2d>(op) || ops::as_if<ops::CopyD2h>(op) || ops::as_if<ops::CopyD2hPinned>(op);
}
}  // namespace

Checker::Checker(std::shared_ptr<const Operators> operators, const Communicators& communicators,
                 ExecutionSink& sink)
    : operators_(std::move(operators)),
      reader_(*operators_, communicators),
      races_(sink),
      map_([this](const AccessMap::Access& before, const AccessMap::Access& now) {
        races_.add(before, now);
      }) {}

void Checker::restore(const std::vector<Resources::Stream>& streams) {
  for (const Resources::Stream& one : streams) timeline_.create_stream(one.handle, one.flags);
}

void Checker::take(const ops::OpHeader& op) {
  if (op.sequence <= newest_) return;
  newest_ = op.sequence;
  if (!note(op)) touch(op);
}

void Checker::site(const ops::OrderSite& op) {
  const auto text = device::payload_of(op).first(std::min<size_t>(op.bytes, op.header.size - sizeof op));
  const std::string_view now(reinterpret_cast<const char*>(text.data()), text.size());
  if (!site_ || *site_ != now) site_ = std::make_shared<const std::string>(now);
}

/// Forgets earlier accesses at these addresses: the memory is new.
void Checker::new_memory(uint64_t address, uint64_t bytes) {
  if (address + bytes > address) map_.forget(address, address + bytes);
}

/// Notes an op of memory or of order. False: it is an op that touches memory, if anything.
bool Checker::note(const ops::OpHeader& op) {
  bool noted = true;
  const ops::Overloaded take{
      [&](const ops::Allocate& one) { new_memory(one.address, one.bytes); },
      [&](const ops::MemoryHold& one) { held_[one.handle] = one.bytes; },
      [&](const ops::MemoryDrop& one) { held_.erase(one.handle); },
      [&](const ops::MemoryMap& one) {
        if (const auto held = held_.extract(one.handle)) new_memory(one.address, held.mapped());
      },
      [&](const ops::OrderUnasked&) { unasked_.insert(op.stream); },
      [&](const ops::OrderSite& one) { site(one); },
      [&](const ops::OrderHost& one) {
        host_.insert_or_assign(op.stream, Operand{{one.address, one.bytes}, one.written != 0});
      },
      [&](const auto&) { noted = order(op); },
  };
  ops::visit(op, take);
  return noted;
}

/// Handles ops of order. False: it is another one.
bool Checker::order(const ops::OpHeader& op) {
  bool orders = true;
  const ops::Overloaded take{
      [&](const ops::StreamCreate& one) { timeline_.create_stream(one.handle, one.flags); },
      [&](const ops::StreamDestroy& one) { timeline_.destroy_stream(one.handle); },
      [&](const ops::EventRecord& one) {
        timeline_.begin(op.stream, op.sequence);
        timeline_.record(one.event, op.stream);
      },
      [&](const ops::EventWait& one) {
        timeline_.begin(op.stream, op.sequence);
        timeline_.wait(one.event, op.stream, op.sequence);
      },
      [&](const ops::EventDestroy& one) { timeline_.destroy_event(one.handle); },
      [&](const ops::StreamSynchronize&) {
        if (!unasked_.erase(op.stream)) timeline_.host_has_stream(op.stream);
      },
      [&](const ops::EventSynchronize& one) { timeline_.host_has_event(one.event); },
      [&](const ops::DeviceSynchronize&) { timeline_.host_has_all(); },
      [&](const ops::OrderKnown& one) {
        one.until ? timeline_.host_has(one.stream, one.until) : timeline_.host_has_all();
      },
      [&](const auto&) { orders = false; },
  };
  ops::visit(op, take);
  return orders;
}

OperationPointer Checker::operation(const ops::OpHeader& op, uint32_t stream) const {
  return std::make_shared<const Operation>(
      Operation{op.sequence, op.stream, stream, OperandReader::name(op), site_});
}

/// Adds the program's memory that a copy uses.
void Checker::host_side(const ops::OpHeader& op, Operands& operands) {
  if (host_.empty() || !copies_host_memory(op)) return;
  const auto found = host_.find(op.stream);
  if (found == host_.end()) return;
  operands.push_back(std::move(found->second));
  host_.erase(found);
}

void Checker::touch(const ops::OpHeader& op) {
  Operands operands;
  try {
    operands = reader_.operands(op);
  } catch (const device::OpError&) {
    return;  // the device refuses it too, and reports the reason
  }
  host_side(op, operands);
  if (operands.empty()) return;
  const auto moment = timeline_.begin(op.stream, op.sequence);
  const auto operation = this->operation(op, moment.stream);
  for (Operand& one : operands) map_.take(operation, moment.past, std::move(one.region), one.writes);
  map_.sweep(timeline_.host());
}

}  // namespace jitc::software::order

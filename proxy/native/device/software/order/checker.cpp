// See checker.h.
#include "checker.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "device/common/error.h"
#include "device/common/operands.h"

namespace jitc::software::order {
using ops::OpId;

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
  new_memory(op);
  if (!order(op)) touch(op);
}

void Checker::site(const ops::OrderSite& op) {
  const auto text = device::payload_of(op).first(std::min<size_t>(op.bytes, op.header.size - sizeof op));
  const std::string_view now(reinterpret_cast<const char*>(text.data()), text.size());
  if (!site_ || *site_ != now) site_ = std::make_shared<const std::string>(now);
}

/// Forgets earlier accesses at these addresses: the memory is new.
void Checker::new_memory(const ops::OpHeader& op) {
  uint64_t address = 0, bytes = 0;
  switch (static_cast<OpId>(op.op)) {
    case OpId::allocate:
      address = as<ops::Allocate>(op).address;
      bytes = as<ops::Allocate>(op).bytes;
      break;
    case OpId::memory_hold:
      held_[as<ops::MemoryHold>(op).handle] = as<ops::MemoryHold>(op).bytes;
      return;
    case OpId::memory_drop:
      held_.erase(as<ops::MemoryDrop>(op).handle);
      return;
    case OpId::memory_map:
      address = as<ops::MemoryMap>(op).address;
      if (const auto held = held_.extract(as<ops::MemoryMap>(op).handle)) bytes = held.mapped();
      break;
    default:
      return;
  }
  if (address + bytes > address) map_.forget(address, address + bytes);
}

/// Handles ops of order. False: it is an op that touches memory, if anything.
bool Checker::order(const ops::OpHeader& op) {
  switch (static_cast<OpId>(op.op)) {
    case OpId::stream_create:
      timeline_.create_stream(as<ops::StreamCreate>(op).handle, as<ops::StreamCreate>(op).flags);
      return true;
    case OpId::stream_destroy:
      timeline_.destroy_stream(as<ops::StreamDestroy>(op).handle);
      return true;
    case OpId::event_record:
      timeline_.begin(op.stream, op.sequence);
      timeline_.record(as<ops::EventRecord>(op).event, op.stream);
      return true;
    case OpId::event_wait:
      timeline_.begin(op.stream, op.sequence);
      timeline_.wait(as<ops::EventWait>(op).event, op.stream, op.sequence);
      return true;
    case OpId::event_destroy:
      timeline_.destroy_event(as<ops::EventDestroy>(op).handle);
      return true;
    case OpId::stream_synchronize:
      if (!unasked_.erase(op.stream)) timeline_.host_has_stream(op.stream);
      return true;
    case OpId::order_unasked:
      unasked_.insert(op.stream);
      return true;
    case OpId::event_synchronize:
      timeline_.host_has_event(as<ops::EventSynchronize>(op).event);
      return true;
    case OpId::device_synchronize:
      timeline_.host_has_all();
      return true;
    case OpId::order_known: {
      const auto& known = as<ops::OrderKnown>(op);
      known.until ? timeline_.host_has(known.stream, known.until) : timeline_.host_has_all();
      return true;
    }
    case OpId::order_site:
      site(as<ops::OrderSite>(op));
      return true;
    case OpId::order_host: {
      const auto& host = as<ops::OrderHost>(op);
      host_.insert_or_assign(op.stream, Operand{{host.address, host.bytes}, host.written != 0});
      return true;
    }
    default:
      return false;
  }
}

OperationPointer Checker::operation(const ops::OpHeader& op, uint32_t stream) const {
  return std::make_shared<const Operation>(
      Operation{op.sequence, op.stream, stream, OperandReader::name(op), site_});
}

/// Adds the program's memory that a copy uses.
void Checker::host_side(const ops::OpHeader& op, Operands& operands) {
  const auto is = [&](OpId id) { return op.op == static_cast<uint16_t>(id); };
  if (host_.empty() || !(is(OpId::copy_h2d) || is(OpId::copy_d2h) || is(OpId::copy_d2h_pinned))) return;
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

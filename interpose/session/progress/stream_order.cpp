#include "stream_order.h"

#include <algorithm>

#include "jitc/generated_op_traits.h"

namespace jitc::session {
namespace {

constexpr uint64_t kLegacy = 0;
constexpr uint32_t kNonBlocking = 1;  // of cudaStreamCreateWithFlags

template <class Op>
const Op& as(const ops::OpHeader& op) {
  return reinterpret_cast<const Op&>(op);
}
ops::OpId id_of(const ops::OpHeader& op) { return static_cast<ops::OpId>(op.op); }

}  // namespace

StreamOrder::Place StreamOrder::place(const ops::OpHeader& op) {
  const ops::OpTraits& traits = ops::traits(id_of(op));
  const bool is_work = traits.on_stream && !join_capture(op);
  if (is_work)
    work(op);
  else
    no_work(op);
  return {is_work, traits.shows == ops::Shows::nothing ? Reach{} : shown_by(op)};
}

Reach StreamOrder::shown_by(const ops::OpHeader& op) const {
  switch (ops::traits(id_of(op)).shows) {
    case ops::Shows::nothing:
      return {};
    case ops::Shows::stream:
      return {op.stream == kLegacy ? Reach::Of::legacy_and_blocking : Reach::Of::stream, op.stream,
              op.sequence};
    case ops::Shows::event: {
      const Record* const record = record_of(as<ops::EventSynchronize>(op).event);
      return record && !record->capture ? Reach{Reach::Of::stream, record->stream, record->sequence}
                                        : Reach{};
    }
    case ops::Shows::device:
      return {Reach::Of::device, 0, op.sequence};
  }
  return {};
}

// -- ops that are no work -------------------------------------------------------------------------

void StreamOrder::no_work(const ops::OpHeader& op) {
  const ops::Overloaded take{
      [&](const ops::EventRecord& one) {  // captured: it is noted, not run
        records_[one.event] = {op.stream, op.sequence, capture_of(op.stream)};
      },
      [&](const ops::StreamCreate& one) {
        if (one.flags & kNonBlocking) return;
        ++blocking_;
        // CUDA does not say whether it waits for earlier work of the legacy stream.
        lanes_[one.handle] = {true, false, op.sequence, {}};
      },
      [&](const ops::StreamDestroy& one) { forget_stream(one.handle); },
      [&](const ops::EventDestroy& one) { records_.erase(one.handle); },
      [&](const ops::CaptureBegin&) { captured_[op.stream] = op.stream; },
      [&](const ops::CaptureEnd&) {
        std::erase_if(captured_, [&](const auto& one) { return one.second == op.stream; });
      },
      [](const auto&) {},
  };
  ops::visit(op, take);
}

/// Forgets a destroyed stream, whose work continues and whose waits stay valid.
void StreamOrder::forget_stream(uint64_t stream) {
  captured_.erase(stream);
  const auto found = lanes_.find(stream);
  if (found == lanes_.end()) return;
  Lane& lane = found->second;
  const auto& legacy = lanes_[kLegacy].waits;
  if (lane.blocking && !legacy.empty()) zombies_.push_back({stream, legacy.back().at});
  blocking_ -= lane.blocking;
  lane.blocking = false;
  lane.gone = true;
  if (lane.waits.empty()) lanes_.erase(stream);
}

uint64_t StreamOrder::capture_of(uint64_t stream) const {
  if (captured_.empty()) return 0;
  const auto found = captured_.find(stream);
  return found == captured_.end() ? 0 : found->second;
}

const StreamOrder::Record* StreamOrder::record_of(uint64_t event) const {
  const auto found = records_.find(event);
  return found == records_.end() ? nullptr : &found->second;
}

// -- work ------------------------------------------------------------------------------------------

/// Returns whether the op is part of a capture, which a stream joins that waits for an event of it.
bool StreamOrder::join_capture(const ops::OpHeader& op) {
  if (captured_.empty()) return false;
  if (const auto* const wait = ops::as_if<ops::EventWait>(op)) {
    const Record* const record = record_of(wait->event);
    if (record && record->capture && capture_of(record->stream)) captured_[op.stream] = record->capture;
  }
  return capture_of(op.stream) != 0;
}

void StreamOrder::work(const ops::OpHeader& op) {
  if (blocking_) order_with_legacy(op);
  if (const auto* const made = ops::as_if<ops::EventRecord>(op)) {
    records_[made->event] = {op.stream, op.sequence, 0};
  } else if (const auto* const wait = ops::as_if<ops::EventWait>(op)) {
    const Record* const record = record_of(wait->event);
    if (record && !record->capture)
      lanes_[op.stream].waits.push_back({op.sequence, {Reach::Of::stream, record->stream, record->sequence}});
  }
  if (op.stream == kLegacy) legacy_newest_ = op.sequence;
}

/// Orders work of the legacy stream after all earlier work of blocking streams, and the other way round.
void StreamOrder::order_with_legacy(const ops::OpHeader& op) {
  if (op.stream == kLegacy) {
    if (blocking_newest_ <= blocking_seen_) return;
    blocking_seen_ = op.sequence;
    lanes_[kLegacy].waits.push_back({op.sequence, {Reach::Of::legacy_and_blocking, 0, op.sequence}});
    return;
  }
  const auto found = lanes_.find(op.stream);
  if (found == lanes_.end() || !found->second.blocking) return;
  blocking_newest_ = op.sequence;
  Lane& lane = found->second;
  if (legacy_newest_ <= lane.legacy_seen) return;
  lane.legacy_seen = op.sequence;
  lane.waits.push_back({op.sequence, {Reach::Of::stream, kLegacy, op.sequence}});
}

// -- completed work --------------------------------------------------------------------------------

void StreamOrder::follow(uint64_t stream, uint64_t sequence, std::vector<Reach>& also) {
  const auto found = lanes_.find(stream);
  if (found == lanes_.end()) return;
  auto& waits = found->second.waits;
  for (; !waits.empty() && waits.front().at <= sequence; waits.pop_front())
    also.push_back(waits.front().before);
  if (waits.empty() && found->second.gone) lanes_.erase(found);
}

void StreamOrder::legacy_group(uint64_t sequence, std::vector<Reach>& also) {
  also.push_back({Reach::Of::stream, kLegacy, sequence});
  if (blocking_)
    for (const auto& [stream, lane] : lanes_)
      if (lane.blocking) also.push_back({Reach::Of::stream, stream, sequence});
  std::erase_if(zombies_, [&](const Zombie& one) {
    also.push_back({Reach::Of::stream, one.stream, std::min(sequence, one.until)});
    return one.until <= sequence;
  });
}

}  // namespace jitc::session

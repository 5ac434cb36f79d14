// Placing of ops: handles, streams, events. See device.h; everything here runs with the device's mutex held,
// in sequence order, and must not wait for work on the device (exceptions: place_allocate,
// place_memory_hold, place_memory_map, place_host_unregister).
#include "device.h"
#include "device/common/operands.h"

namespace jitc::software {
Stream& Device::stream_of(const ops::OpHeader& op) {
  if (op.stream <= kLastDefaultStream) return *legacy_;
  const auto found = streams_.find(op.stream);
  if (found == streams_.end()) refuse_handle("stream " + hex(op.stream) + " does not exist");
  return *found->second;
}

Event& Device::event_of(uint64_t handle) {
  const auto found = events_.find(handle);
  if (found == events_.end()) refuse_handle("event " + hex(handle) + " does not exist");
  return found->second;
}

/// What must be over before the next op of the stream starts, beside the stream's own earlier ops: work on
/// the legacy default stream orders itself with that on every blocking stream, both ways.
std::vector<After> Device::legacy_order(Stream& stream) {
  std::vector<After> after;
  if (&stream != legacy_.get()) {
    if (stream.blocking() && legacy_->given() > stream.legacy_seen) {
      stream.legacy_seen = legacy_->given();
      if (!legacy_->dry()) after.push_back(legacy_->after_all());
    }
    return after;
  }
  for (const StreamPointer& other : blocking_) {
    if (other->given() <= other->seen_by_legacy) continue;
    other->seen_by_legacy = other->given();
    if (!other->dry()) after.push_back(other->after_all());
  }
  return after;
}

bool Device::can_run_now(const Stream& stream, const std::vector<After>& after) const {
  return after.empty() && stream.dry();
}

void Device::push(Stream& stream, Task task) {
  pending_.fetch_add(1);
  stream.push(std::move(task));
}

/// The op's stream has nothing to do for it, but its progress must still pass the op.
void Device::done_in_place(const ops::OpHeader& op) {
  const auto found = streams_.find(op.stream);
  if (op.stream <= kLastDefaultStream)
    legacy_->note(op.sequence);
  else if (found != streams_.end())
    found->second->note(op.sequence);
}

void Device::place_nowhere(const ops::OpHeader& op) { done_in_place(op); }

void Device::place_on_stream(const ops::OpHeader& op) {
  Stream& stream = stream_of(op);
  push(stream, {&op, legacy_order(stream), {}, {}, {}});
}

/// Ops given before a free may still use the old block: its pages can be moved aside, or go, only after them.
/// Rare: programs synchronize before they free.
void Device::wait_for_freed(bool needed) {
  if (needed && !hub_.wait([this] { return pending_ == 0; })) throw Abandoned{};
}

/// What is kept of freed blocks gives way to what the program wants.
void Device::make_room(uint64_t bytes) {
  if (memory_.has_room(bytes)) return;
  wait_for_freed(true);
  memory_.give_up_freed(bytes);
}

void Device::place_allocate(const ops::OpHeader& op) {
  const auto& allocate = as<ops::Allocate>(op);
  make_room(allocate.bytes);
  wait_for_freed(memory_.overlaps_freed(allocate.address, allocate.bytes));
  if (const uint32_t status = memory_.allocate(allocate.address, allocate.bytes, op.sequence))
    refuse(status, status == kMemoryAllocation ? "out-of-memory" : "invalid-value",
           std::to_string(allocate.bytes) + " bytes at " + hex(allocate.address) +
               (status == kMemoryAllocation ? ": the memory limit is reached"
                                            : ": not free or not in the range"));
  done_in_place(op);
  sink_.result(op.sequence, kSuccess, {});
}

void Device::place_free(const ops::OpHeader& op) {
  const uint64_t address = as<ops::Free>(op).address;
  if (memory_.free(address, op.sequence) != kSuccess) refuse_value(hex(address) + " is not an allocation");
  done_in_place(op);
}

void Device::place_memory_hold(const ops::OpHeader& op) {
  const auto& hold = as<ops::MemoryHold>(op);
  make_room(hold.bytes);
  if (const uint32_t status = memory_.hold(hold.handle, hold.bytes))
    refuse(status, status == kMemoryAllocation ? "out-of-memory" : "invalid-value",
           std::to_string(hold.bytes) + " bytes" +
               (status == kMemoryAllocation ? ": the memory limit is reached"
                                            : ": not a size, or the handle exists already"));
  done_in_place(op);
  sink_.result(op.sequence, kSuccess, {});
}

void Device::place_memory_map(const ops::OpHeader& op) {
  const auto& map = as<ops::MemoryMap>(op);
  wait_for_freed(memory_.overlaps_freed(map.address, memory_.held(map.handle)));
  const uint32_t status = memory_.map_held(map.handle, map.address, op.sequence);
  if (status == kInvalidHandle) refuse_handle("memory " + hex(map.handle) + " is not held");
  if (status == kInvalidValue) refuse_value(hex(map.address) + " is not free or not in the range");
  if (status) refuse(status, "out-of-memory", "the host has no pages for held memory");
  done_in_place(op);
}

void Device::place_memory_drop(const ops::OpHeader& op) {
  const uint64_t handle = as<ops::MemoryDrop>(op).handle;
  if (memory_.drop(handle) != kSuccess) refuse_handle("memory " + hex(handle) + " is not held");
  done_in_place(op);
}

void Device::place_host_register(const ops::OpHeader& op) {
  const auto& range = as<ops::HostRegister>(op);
  if (!pinned_.find(range.address, range.bytes) || memory_.share(range.address, range.bytes) != kSuccess)
    refuse_value(std::to_string(range.bytes) + " bytes at " + hex(range.address) +
                 ": not pinned memory of this session, or registered already");
  done_in_place(op);
  sink_.result(op.sequence, kSuccess, {});
}

void Device::place_host_unregister(const ops::OpHeader& op) {
  const uint64_t address = as<ops::HostUnregister>(op).address;
  if (!hub_.wait([this] { return pending_ == 0; })) throw Abandoned{};  // what was given may still use it
  if (memory_.unshare(address) != kSuccess) refuse_value(hex(address) + " is not registered");
  done_in_place(op);
  sink_.result(op.sequence, kSuccess, {});
}

void Device::place_memory_info(const ops::OpHeader& op) {
  done_in_place(op);
  sink_.result(op.sequence, kSuccess, packed(memory_.available(), memory_.limit()));
}

void Device::add_stream(uint64_t handle, uint32_t flags) {
  auto stream = std::make_shared<Stream>(handle, flags, *this, crew_);
  watch(stream);
  if (stream->blocking()) blocking_.push_back(stream);
  streams_.emplace(handle, std::move(stream));
}

void Device::place_stream_create(const ops::OpHeader& op) {
  const auto& create = as<ops::StreamCreate>(op);
  if (create.handle <= kLastDefaultStream || streams_.contains(create.handle))
    refuse_handle("stream " + hex(create.handle) + " exists already");
  if (create.flags > Stream::kNonBlocking) refuse_value("stream flags " + hex(create.flags));
  add_stream(create.handle, create.flags);
  done_in_place(op);
}

void Device::retire_stream(std::unordered_map<uint64_t, StreamPointer>::iterator found) {
  if (!found->second->dry()) retired_.push_back(found->second);
  std::erase_if(blocking_,
                [&](const StreamPointer& stream) { return stream == found->second && stream->dry(); });
  streams_.erase(found);
}

/// Destroyed streams end once their work is done, on whoever comes along then.
void Device::reap_streams() {
  std::erase_if(retired_, [this](const StreamPointer& stream) {
    return stream->dry() && (std::erase(blocking_, stream), true);
  });
}

void Device::place_stream_destroy(const ops::OpHeader& op) {
  const auto found = streams_.find(as<ops::StreamDestroy>(op).handle);
  if (found == streams_.end())
    refuse_handle("stream " + hex(as<ops::StreamDestroy>(op).handle) + " does not exist");
  done_in_place(op);
  retire_stream(found);
  reap_streams();
}

void Device::place_stream_synchronize(const ops::OpHeader& op) {
  Stream& stream = stream_of(op);
  std::vector<After> after;
  if (&stream == legacy_.get()) after = legacy_order(stream);
  if (!can_run_now(stream, after)) return push(stream, {&op, std::move(after), {}, {}, {}});
  stream.note(op.sequence);
  sink_.result(op.sequence, kSuccess, {});
}

void Device::place_device_synchronize(const ops::OpHeader& op) {
  std::vector<Stream*> busy;
  if (!legacy_->dry()) busy.push_back(legacy_.get());
  for (const auto& [handle, stream] : streams_)
    if (!stream->dry()) busy.push_back(stream.get());
  for (const StreamPointer& stream : retired_)
    if (!stream->dry()) busy.push_back(stream.get());
  done_in_place(op);  // progress passes it although its stream may have nothing to do
  if (busy.empty()) return sink_.result(op.sequence, kSuccess, {});
  const auto join = std::make_shared<Join>(busy.size());
  for (Stream* const stream : busy) push(*stream, {&op, {}, {}, join, {}});
}

void Device::place_event_create(const ops::OpHeader& op) {
  const auto& create = as<ops::EventCreate>(op);
  if (!events_.try_emplace(create.handle, Event{create.flags, nullptr}).second)
    refuse_handle("event " + hex(create.handle) + " exists already");
  done_in_place(op);
}

void Device::place_event_destroy(const ops::OpHeader& op) {
  if (events_.erase(as<ops::EventDestroy>(op).handle) == 0)
    refuse_handle("event " + hex(as<ops::EventDestroy>(op).handle) + " does not exist");
  done_in_place(op);
}

void Device::finish(Record& record) {
  for (const uint64_t sequence : record.finish()) sink_.result(sequence, kSuccess, {});
}

void Device::place_event_record(const ops::OpHeader& op) {
  Event& event = event_of(as<ops::EventRecord>(op).event);
  Stream& stream = stream_of(op);
  const auto record = event.latest = std::make_shared<Record>();
  auto after = legacy_order(stream);
  if (!can_run_now(stream, after)) return push(stream, {&op, std::move(after), record, {}, {}});
  finish(*record);
  stream.note(op.sequence);
}

void Device::place_event_wait(const ops::OpHeader& op) {
  const Event& event = event_of(as<ops::EventWait>(op).event);
  Stream& stream = stream_of(op);
  if (!event.latest || event.latest->done()) return stream.note(op.sequence);
  push(stream, {&op, legacy_order(stream), event.latest, {}, {}});
}

void Device::place_event_synchronize(const ops::OpHeader& op) {
  const Event& event = event_of(as<ops::EventSynchronize>(op).event);
  done_in_place(op);
  if (!event.latest || !event.latest->notify(op.sequence)) sink_.result(op.sequence, kSuccess, {});
}

void Device::place_event_elapsed(const ops::OpHeader& op) {
  const Event& start = event_of(as<ops::EventElapsed>(op).start);
  const Event& end = event_of(as<ops::EventElapsed>(op).end);
  for (const Event* event : {&start, &end})
    if (!event->latest || (event->flags & Event::kDisableTiming)) refuse_handle("the event has no time");
  if (!start.latest->done() || !end.latest->done())
    refuse(kNotReady, "not-ready", "the event is recorded but its work is not done yet");
  done_in_place(op);
  const std::chrono::duration<float, std::milli> elapsed = end.latest->time() - start.latest->time();
  sink_.result(op.sequence, kSuccess, packed(elapsed.count()));
}

void Device::place_communicator_create(const ops::OpHeader& op) {
  communicators_.create(as<ops::CommunicatorCreate>(op));
  done_in_place(op);
}

void Device::place_communicator_split(const ops::OpHeader& op) {
  communicators_.split(as<ops::CommunicatorSplit>(op));
  done_in_place(op);
}

void Device::place_communicator_destroy(const ops::OpHeader& op) {
  communicators_.destroy(as<ops::CommunicatorDestroy>(op));
  done_in_place(op);
}

void Device::place_collective(const ops::OpHeader& op) {
  Stream& stream = stream_of(op);
  auto group = communicators_.group(as<ops::Collective>(op));
  push(stream, {&op, legacy_order(stream), {}, {}, std::move(group)});
}

}  // namespace jitc::software

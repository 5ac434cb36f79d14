#include "resources.h"

#include "wire.h"

namespace jitc {
namespace {
template <class Map>
auto values(const Map& map) {
  std::vector<typename Map::mapped_type> list;
  list.reserve(map.size());
  for (const auto& entry : map) list.push_back(entry.second);
  return list;
}
}  // namespace

void pack(Packer& packer, const Resources& resources) {
  packer.put_all(resources.allocations);
  packer.put_all(resources.streams);
  packer.put_all(resources.events);
  packer.put_all(resources.communicators);
}

Resources unpack_resources(Unpacker& unpacker) {
  Resources resources;
  resources.allocations = unpacker.get_all<Resources::Allocation>();
  resources.streams = unpacker.get_all<Resources::Stream>();
  resources.events = unpacker.get_all<Resources::Event>();
  resources.communicators = unpacker.get_all<Resources::Communicator>();
  return resources;
}

void ResourceTable::apply(const ops::OpHeader& op, uint32_t status) {
  using ops::OpId;
  if (status != 0) return;
  switch (static_cast<OpId>(op.op)) {
    case OpId::allocate: {
      const auto& made = wire::as<ops::Allocate>(op);
      allocations_[made.address] = {made.address, made.bytes, op.sequence};
      return;
    }
    case OpId::free:
      allocations_.erase(wire::as<ops::Free>(op).address);
      return;
    case OpId::stream_create: {
      const auto& made = wire::as<ops::StreamCreate>(op);
      streams_[made.handle] = {made.handle, made.flags, made.priority};
      return;
    }
    case OpId::stream_destroy:
      streams_.erase(wire::as<ops::StreamDestroy>(op).handle);
      return;
    case OpId::event_create: {
      const auto& made = wire::as<ops::EventCreate>(op);
      events_[made.handle] = {made.handle, made.flags};
      return;
    }
    case OpId::event_destroy:
      events_.erase(wire::as<ops::EventDestroy>(op).handle);
      return;
    case OpId::communicator_create: {
      const auto& made = wire::as<ops::CommunicatorCreate>(op);
      communicators_[made.handle] = {made.handle, made.ranks, made.rank, made.unique_id};
      return;
    }
    case OpId::communicator_split: {
      const auto& made = wire::as<ops::CommunicatorSplit>(op);
      if (made.color >= 0) communicators_[made.handle] = {made.handle, 0, 0, {}};
      return;
    }
    case OpId::communicator_destroy:
      communicators_.erase(wire::as<ops::CommunicatorDestroy>(op).handle);
      return;
    default:
      return;
  }
}

void ResourceTable::reset(const Resources& resources) {
  *this = {};
  for (const auto& one : resources.allocations) allocations_[one.address] = one;
  for (const auto& one : resources.streams) streams_[one.handle] = one;
  for (const auto& one : resources.events) events_[one.handle] = one;
  for (const auto& one : resources.communicators) communicators_[one.handle] = one;
}

Resources ResourceTable::list(const Backend& backend) const {
  Resources resources{values(allocations_), values(streams_), values(events_), {}};
  for (const auto& [handle, known] : communicators_) {
    Resources::Communicator one = known;
    if (backend.communicator(handle, one) || known.ranks) resources.communicators.push_back(one);
  }
  return resources;
}

}  // namespace jitc

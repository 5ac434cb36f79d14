// See documents.h.
#include "documents.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "peer.h"

namespace jitc::bridge {
namespace {
using Json = nlohmann::json;

Json parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error("the description is no JSON object");
  return json;
}

const Json& member(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key))
    throw Error(std::string("the description has no \"") + key + "\"");
  return json.at(key);
}

template <class T>
T number(const Json& json, const char* key) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > std::numeric_limits<T>::max())
    throw Error(std::string("\"") + key + "\" of the description is no number in its range");
  return json.get<T>();
}

template <class T>
T number_of(const Json& json, const char* key) {
  return number<T>(member(json, key), key);
}

std::string text_of(const Json& json, const char* key) {
  const Json& found = member(json, key);
  if (!found.is_string()) throw Error(std::string("\"") + key + "\" of the description is no text");
  return found.get<std::string>();
}

const Json& list_of(const Json& json, const char* key) {
  const Json& found = member(json, key);
  if (!found.is_array()) throw Error(std::string("\"") + key + "\" of the description is no list");
  return found;
}

std::vector<uint32_t> numbers_of(const Json& json, const char* key) {
  std::vector<uint32_t> found;
  for (const Json& one : list_of(json, key)) found.push_back(number<uint32_t>(one, key));
  return found;
}

/// Slots that are named: each once.
class Slots {
 public:
  uint32_t take(const Json& json) {
    const auto slot = number_of<uint32_t>(json, "slot");
    if (slot >= JobBoard::kSlots) throw Error("the board has no slot " + std::to_string(slot));
    if (!taken_.insert(slot).second) throw Error("slot " + std::to_string(slot) + " is named twice");
    return slot;
  }

 private:
  std::set<uint32_t> taken_;
};

Json counts_of(const FrameCounts& counts) {
  Json found = Json::object();
  for (size_t kind = 1; kind < device::kFrameKinds; ++kind) {
    const auto& one = counts.of(static_cast<FrameKind>(kind));
    if (const uint64_t frames = one.frames.load(std::memory_order_relaxed))
      found[std::string(device::name_of(static_cast<FrameKind>(kind)))] = {
          {"frames", frames}, {"bytes", one.bytes.load(std::memory_order_relaxed)}};
  }
  return found;
}
}  // namespace

LinkDescription link_description(const std::string& text) {
  const Json json = parsed(text);
  LinkDescription found;
  found.kind = text_of(json, "kind");
  device::MirroredSegment& segment = found.segment;
  segment.link = number_of<uint64_t>(json, "link");
  segment.path = text_of(json, "path");
  segment.bytes = number_of<uint64_t>(json, "bytes");
  segment.identity = number_of<uint64_t>(json, "identity");
  segment.ranks = number_of<uint32_t>(json, "ranks");
  segment.here = numbers_of(json, "here");
  for (const Json& one : list_of(json, "elsewhere")) {
    const auto peer = number_of<uint32_t>(one, "peer");
    if (!segment.there.emplace(peer, numbers_of(one, "ranks")).second)
      throw Error("peer " + std::to_string(peer) + " is named twice");
  }
  return found;
}

MirrorDescription mirror_description(const std::string& text) {
  const Json json = parsed(text);
  const auto epoch = json.contains("epoch") ? number_of<uint64_t>(json, "epoch") : 0;
  MirrorDescription found;
  Slots slots;
  for (const Json& one : list_of(json, "local")) {
    const uint32_t slot = slots.take(one);
    const auto session = number_of<uint64_t>(one, "session");
    for (const Json& peer : list_of(one, "peers"))
      if (!found.local[number<uint32_t>(peer, "peers")].emplace(session, slot).second)
        throw Error("session " + std::to_string(session) + " of this node is named twice");
  }
  for (const Json& one : list_of(json, "remote")) {
    const uint32_t slot = slots.take(one);
    const auto peer = number_of<uint32_t>(one, "peer");
    const auto session = number_of<uint64_t>(one, "session");
    const auto least = one.contains("epoch") ? number_of<uint64_t>(one, "epoch") : epoch;
    if (!found.remote[peer].emplace(session, BoardReceiver::Place{slot, least}).second)
      throw Error("session " + std::to_string(session) + " of peer " + std::to_string(peer) +
                  " is named twice");
  }
  return found;
}

std::string counters_document(size_t links, const std::map<uint32_t, std::shared_ptr<Peer>>& peers) {
  Json list = Json::array();
  for (const auto& [number, peer] : peers)
    list.push_back({{"peer", number},
                    {"sent", counts_of(peer->sent)},
                    {"received", counts_of(peer->received)},
                    {"dropped", peer->dropped.load()}});
  return Json{{"links", links}, {"peers", list}}.dump();
}

}  // namespace jitc::bridge

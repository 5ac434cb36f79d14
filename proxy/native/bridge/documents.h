// Documents of the bridge's C interface: what the service describes, and what it is told.
//
// Promise: a document that is not as described in jitc/bridge_api.h is an Error that says what is wrong, and
// changes nothing. Called by: Bridge.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "board_receiver.h"
#include "device/common/mirror/segment_mirror.h"

namespace jitc::bridge {

class Peer;

struct LinkDescription {
  std::string kind;  // name of the device
  device::MirroredSegment segment;
};

/// Slots of the board, by peer and session.
struct MirrorDescription {
  std::map<uint32_t, std::map<uint64_t, uint32_t>> local;
  std::map<uint32_t, std::map<uint64_t, BoardReceiver::Place>> remote;
};

LinkDescription link_description(const std::string& json);
MirrorDescription mirror_description(const std::string& json);
/// Returns the counts of frames. peers: by number.
std::string counters_document(size_t links, const std::map<uint32_t, std::shared_ptr<Peer>>& peers);

}  // namespace jitc::bridge

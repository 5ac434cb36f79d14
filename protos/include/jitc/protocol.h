// The version of the protocol between the client, the service and its workers (docs/protocol.md). Each side
// refuses another one. In Python: jitc.proxy.common.paths.PROTOCOL_VERSION.
#pragma once
#include <cstdint>

namespace jitc {
inline constexpr uint32_t kProtocolVersion = 4;
}  // namespace jitc

// The handle by which the C interface knows a call (jitc/transport_server.h).
#pragma once
#include <cstdint>
#include <memory>

namespace jitc::transport {
class ServerConnection;
}

struct jitc_call {
  const std::shared_ptr<jitc::transport::ServerConnection> connection;
  const uint64_t number;
};

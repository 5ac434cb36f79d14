// What the environment variables say: where the service is, which rank of which job this process is.
//
// Called by: node.cpp, reconnect.cpp, service_rpc.cpp.
#pragma once
#include <cstdint>
#include <string>

namespace jitc::session {

/// JITC_SOCKET, else $XDG_RUNTIME_DIR/jitc/proxyd.sock, else /run/jitc/proxyd.sock.
std::string service_socket();
/// JITC_SERVICE_TIMEOUT: how many seconds to wait for a service that has vanished.
uint32_t service_timeout_seconds();

struct JobRank {
  int32_t rank = -1, world_size = 0;  // -1: unknown
  std::string job;
};
/// As the launcher has set it: torchrun, Open MPI, Slurm.
JobRank rank_in_job();

}  // namespace jitc::session

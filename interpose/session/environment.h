// What the environment variables say: where the service is, which rank of which job this process is, and what
// its launcher does.
//
// Called by: node.cpp, reconnect.cpp, service_rpc.cpp; whoever tells the program that a rank has ended
// (session_client.cpp, api/nccl/communicator.cpp).
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
  std::string job;                    // UTF-8
};
/// As the launcher has set it: torchrun, Open MPI, Slurm.
JobRank rank_in_job();

/// To be put behind the reason why a communicator has ended; empty where torchrun does not start this rank
/// again, or each attempt has a store of its own.
std::string advice_for_restarts(const std::string& why);

}  // namespace jitc::session

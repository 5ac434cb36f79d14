// Values of environment variables: where the service is, which rank of which job this process is, and its
// launcher's behaviour.
//
// Called by: node.cpp, reconnect.cpp, service_rpc.cpp; code that reports the end of a rank to the program
// (session_client.cpp, api/nccl/communicator.cpp).
#pragma once
#include <cstdint>
#include <string>

namespace jitc::session {

/// Returns JITC_SOCKET, else $XDG_RUNTIME_DIR/jitc/proxyd.sock, else /run/jitc/proxyd.sock.
std::string service_socket();
/// Returns JITC_SERVICE_TIMEOUT: seconds to wait for a service that has vanished.
uint32_t service_timeout_seconds();

struct JobRank {
  int32_t rank = -1, world_size = 0;  // -1: unknown
  std::string job;                    // UTF-8
};
/// Returns the rank that the launcher has set: torchrun, Open MPI, Slurm.
JobRank rank_in_job();

/// Returns a hint to append to the reason why a communicator has ended; empty if torchrun does not start this
/// rank again, or each attempt has a store of its own.
std::string advice_for_restarts(const std::string& why);

}  // namespace jitc::session

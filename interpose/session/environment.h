// What the process's environment says about the service and about its own rank in the job.
#pragma once
#include <cstdint>
#include <string>

namespace jitc::runtime {

/// JITC_SOCKET, else $XDG_RUNTIME_DIR/jitc/proxyd.sock, else /run/jitc/proxyd.sock.
std::string service_socket();
/// JITC_SERVICE_TIMEOUT: seconds that a vanished service is waited for.
uint32_t service_timeout_seconds();

struct JobRank {
  int32_t rank = -1, world_size = 0;  // -1: unknown
  std::string job;
};
/// As launchers tell it: torchrun, Open MPI, Slurm.
JobRank rank_in_job();

}  // namespace jitc::runtime

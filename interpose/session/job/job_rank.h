// The job of this process, and its rank there, as its launcher has said.
//
// Called by: service_rpc.cpp, with each new session. Promises: the name is the one by which users know the
// job; ranks of one launch agree on name and launch; all texts are UTF-8.
#pragma once
#include <cstdint>
#include <string>

namespace jitc::session {

struct JobRank {
  int32_t rank = -1, world_size = 0;  // -1: unknown
  std::string job;                    // empty: it has no name
  std::string launch;                 // tells jobs of one name apart
};
/// Returns what the launcher has set: torchrun, Open MPI, Slurm, Kubernetes, or JITC_JOB.
JobRank rank_in_job();

}  // namespace jitc::session

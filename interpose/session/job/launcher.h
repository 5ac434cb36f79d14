// The process that has started the ranks of a job on this node: torchrun, mpirun, srun, a shell script.
//
// Called by: job_rank.cpp. Promise: ranks that one launcher has started get one text, also after a restart;
// launchers of different jobs get different ones. Nothing is changed, and no other process is waited for.
#pragma once
#include <string>

namespace jitc::session {

/// Returns the launcher's process number and start time: of the nearest ancestor whose own environment does
/// not set the variable that gives this process its rank. Empty if it cannot be seen, as in a container of
/// one rank.
std::string launcher(const std::string& variable);
/// Returns this process's own number and start time.
std::string this_process();

}  // namespace jitc::session

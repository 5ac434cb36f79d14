// Numbers of all sessions of a worker, as a JSON document (worker.proto, StatsReply.json).
//
// Called by: Executor.
#pragma once
#include <string>
#include <vector>

#include "executor/core/session_types.h"

namespace jitc {

std::string stats_document(const std::vector<SessionStats>& sessions);

}  // namespace jitc

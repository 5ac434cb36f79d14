// Options with which the executor is made, read from their JSON document (jitc/executor_api.h).
//
// Called by: Executor. Both functions throw Error with the key that is wrong.
#pragma once
#include <string>

#include "executor/core/session_types.h"

namespace jitc {

DeviceOptions parse_options(const std::string& json);
/// Returns the socket of clients' op streams; empty if they come by the C interface.
std::string op_socket_of(const std::string& options);

}  // namespace jitc

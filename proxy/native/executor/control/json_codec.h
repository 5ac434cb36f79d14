// JSON documents of the C interface: requests in, replies out. Keys are those of worker.proto; numbers are
// plain, bytes are in hex. Called by executor.cpp.
#pragma once
#include <string>

#include "executor/session/session.h"

namespace jitc {

/// All functions throw Error with the key that is wrong. The first two are in device_options.cpp.
DeviceOptions parse_options(const std::string& json);
/// Returns the socket of clients' op streams; empty if they come by the C interface.
std::string op_socket_of(const std::string& options);
SessionRequest parse_session(const std::string& json);

/// Runs a command on a session and returns the reply as JSON.
std::string run_command(Session& session, const std::string& method, const std::string& request);
/// Returns the "session" key of a request, 0 if it has none.
uint64_t session_of(const std::string& request);
std::string stats_document(const std::vector<SessionStats>& sessions);

}  // namespace jitc

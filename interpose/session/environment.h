// Values of environment variables: where the service is, and its launcher's behaviour.
//
// Called by: node.cpp, presence.cpp, reconnect.cpp, job/; code that reports the end of a rank to the program
// (session_client.cpp, api/nccl/communicator.cpp).
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

namespace jitc::session {

/// Returns a variable, or nothing in a program that runs with more rights than its caller (set-uid): the
/// caller wrote the environment and must not choose which service the program talks to.
std::string variable(const char* name);
/// Returns the first of the variables that holds a number; otherwise fallback.
long first_number(std::initializer_list<const char*> names, long fallback);

/// Where a service of the system listens: root's, for the programs of all users.
inline constexpr const char* kSystemSocket = "/run/jitc/proxyd.sock";

/// Returns JITC_SOCKET, else $XDG_RUNTIME_DIR/jitc/proxyd.sock, the user's own, unless a service is expected
/// on the system's socket alone. Without XDG_RUNTIME_DIR it is the system's. The rule is that of
/// `client_socket` (proxy/common/paths.py). The answer changes when a service begins or ends: a caller keeps
/// it. system: tests replace it.
std::string service_socket(const std::string& system = kSystemSocket);
/// Returns whether the folder beside a socket is there, which the service and its keeper keep while a service
/// is to be expected.
bool has_folder(const std::string& socket);
/// Returns JITC_SERVICE_TIMEOUT: seconds to wait for a service that has vanished.
uint32_t service_timeout_seconds();

/// Returns a hint to append to the reason why a communicator has ended; empty if torchrun does not start this
/// rank again, or each attempt has a store of its own.
std::string advice_for_restarts(const std::string& why);

}  // namespace jitc::session

// Calls to the node service: Describe, Attach, Detach of protos/jitc/v1/control.proto.
//
// Called by: node.cpp, reconnect.cpp. Promises: every call blocks, with a time limit; no state is kept.
#pragma once
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "jitc/protocol.h"
#include "library_environment.h"
#include "node.h"

namespace jitc::session {

/// gRPC status codes that are treated differently.
enum class Rpc : int {
  ok = 0,
  cancelled = 1,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  unavailable = 14,
};

/// Outcome of a call to the service.
struct Answer {
  int status = 0;  // gRPC status; negative errno when the service could not be reached
  std::string text;
  bool of_keeper = false;  // the service's keeper could not be reached
  bool ok() const { return status == 0; }
  bool is(Rpc code) const { return status == static_cast<int>(code); }
  /// Returns true if no service is there: no socket, no listener, or no answer.
  bool absent() const { return status < 0 || is(Rpc::deadline_exceeded); }
  /// Returns true if no service could be reached there, however long it is waited for. A keeper's socket that
  /// is closed to this user may be opened soon: a service that begins anew does so when it knows its users.
  bool hopeless() const { return (status == -EACCES && !of_keeper) || status == -ENAMETOOLONG; }
};

struct Attachment {
  uint64_t session = 0, address_base = 0, address_bytes = 0;
  std::string token, worker_socket;
  PinnedRegion pinned;
  Variables variables;  // environment of its workers' libraries
};

Answer describe(const std::string& socket, std::vector<GpuInfo>* gpus);
/// token: empty for a new session; program: the keeper's ticket of this process; variables: for the libraries
/// of a new session's worker, and of those that follow it.
Answer attach(const std::string& socket, uint32_t gpu, const std::string& token, const std::string& program,
              const Variables& variables, uint32_t wait_ms, Attachment* out);
Answer detach(const std::string& socket, const std::string& token, uint32_t timeout_ms);

/// Returns a message for the user: why the service could not be reached, or refused.
std::string explain(const std::string& socket, const Answer& answer);

}  // namespace jitc::session

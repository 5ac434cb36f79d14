// Opens libjitc_transport.so on first use.
//
// Called by: service_rpc.cpp, worker_connection.cpp. Promises: the library beside the one that holds this
// code is preferred, then the loader's own rules apply; its symbols are invisible to the program
// (RTLD_LOCAL).
#pragma once
#include "jitc/transport.h"

namespace jitc::session {

/// Returns the transport, or nullptr with one message on stderr that says why.
const jitc_transport_api* transport();

}  // namespace jitc::session

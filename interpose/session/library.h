// Opens libjitc_transport.so on first use.
//
// Called by: service_rpc.cpp, worker_connection.cpp. Promise: looked for beside the library that holds this
// code, then by the loader's own rules; its symbols stay out of the program's way (RTLD_LOCAL).
#pragma once
#include "jitc/transport.h"

namespace jitc::runtime {

/// The transport, or nullptr (one message on stderr says why).
const jitc_transport_api* transport();

}  // namespace jitc::runtime

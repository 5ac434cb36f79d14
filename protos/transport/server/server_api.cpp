// The C functions of the server's half of libjitc_transport.so (jitc/transport_server.h). No exception leaves
// them.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "call_handle.h"
#include "server.h"
#include "server_connection.h"

struct jitc_server {
  jitc::transport::Server server;
};

namespace jitc::transport {
namespace {

jitc_server* start(const char* path, const char* method, const jitc_server_callbacks* callbacks,
                   jitc_bytes* error) {
  *error = {};
  std::string why;
  try {
    return new jitc_server{{path, method, *callbacks}};
  } catch (const std::exception& failure) {
    why = failure.what();
  }
  error->data = reinterpret_cast<uint8_t*>(strdup(why.c_str()));
  error->size = error->data != nullptr ? why.size() : 0;
  return nullptr;
}

void stop(jitc_server* server) { delete server; }
void wake(jitc_call* call) { call->connection->wake(call->number); }
void wake_after(jitc_call* call, uint64_t nanoseconds) { call->connection->wake_after(nanoseconds); }
void pause(jitc_call* call, int paused) { call->connection->pause(call->number, paused != 0); }
void finish(jitc_call* call, const jitc_ending* ending) {
  try {
    call->connection->finish(call->number, ending->status, ending->text);
  } catch (const std::exception&) {  // no memory for the text
    call->connection->shut_down();
  }
}
void release(jitc_call* call) { delete call; }
void release_bytes(jitc_bytes* bytes) {
  std::free(bytes->data);
  *bytes = {};
}

constexpr jitc_transport_server_api kApi{2,     start,  stop,    wake,         wake_after,
                                         pause, finish, release, release_bytes};

}  // namespace
}  // namespace jitc::transport

extern "C" __attribute__((visibility("default"))) const jitc_transport_server_api* jitc_transport_server_get(
    void) {
  return &jitc::transport::kApi;
}

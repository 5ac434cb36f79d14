// The floor for a synchronous call without Python: a gRPC stream server that sends every message back.
//
// Compiled and run by call_cost.py. Arguments: path of libjitc_transport.so, socket. Prints one line when
// ready; ends when its standard input closes.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <vector>

#include "jitc/transport_server.h"

namespace {
const jitc_transport_server_api* api = nullptr;

struct Echo {
  jitc_call* call;
  std::mutex mutex;
  std::deque<std::vector<uint8_t>> waiting;
  std::vector<uint8_t> sent;

  static void* begin(void*, jitc_call* call, const jitc_metadata*, size_t, jitc_ending*) {
    return new Echo{call, {}, {}, {}};
  }
  static int message(void* self, const uint8_t* data, size_t size, jitc_ending*) {
    Echo& echo = *static_cast<Echo*>(self);
    {
      const std::lock_guard lock(echo.mutex);
      echo.waiting.emplace_back(data, data + size);
    }
    api->wake(echo.call);
    return 1;
  }
  static size_t next(void* self, jitc_bytes* parts, size_t) {
    Echo& echo = *static_cast<Echo*>(self);
    const std::lock_guard lock(echo.mutex);
    if (echo.waiting.empty()) return 0;
    echo.sent = std::move(echo.waiting.front());
    echo.waiting.pop_front();
    *parts = {echo.sent.data(), echo.sent.size()};
    return 1;
  }
  static void closed(void* self) {
    Echo* const echo = static_cast<Echo*>(self);
    api->release(echo->call);
    delete echo;
  }
};
}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("arguments: transport library, socket\n", stderr), 1;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  auto get = library ? reinterpret_cast<decltype(&jitc_transport_server_get)>(
                           dlsym(library, "jitc_transport_server_get"))
                     : nullptr;
  if (!get) return std::fprintf(stderr, "echo_server: %s\n", dlerror()), 1;
  api = get();
  const jitc_server_callbacks callbacks{nullptr, Echo::begin, Echo::message, Echo::next, Echo::closed, 0};
  jitc_bytes error{};
  jitc_server* const server = api->start(argv[2], "/bench.Echo/Stream", &callbacks, &error);
  if (!server) return std::fprintf(stderr, "echo_server: %s\n", reinterpret_cast<char*>(error.data)), 1;
  std::puts("ready");
  std::fflush(stdout);
  char byte = 0;
  while (read(0, &byte, 1) > 0) {
  }
  api->stop(server);
  return 0;
}

// Accepts connections on a unix socket, and keeps them until they have ended.
//
// Called by: server_api.cpp. Promises: the socket is its user's alone; when it is destroyed, no thread of it
// runs and the socket's file is removed. A client that may connect may also stay silent: a connection is a
// stranger's while it has no call that was accepted, and then ends after a time (kHelloSeconds), or before,
// as the oldest of too many (kStrangers). Neither limit applies to those with a call; beyond kMost of all a
// new one is closed.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/socket.h"
#include "jitc/transport_server.h"
#include "waker.h"

namespace jitc::transport {

class ServerConnection;

class Server {
 public:
  static constexpr size_t kMost = 1024, kStrangers = 64;
  static constexpr uint32_t kHelloSeconds = 10;
  /// Starts the server. Throws std::system_error if it cannot listen.
  Server(std::string path, std::string method, const jitc_server_callbacks& callbacks);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  void accept_all();
  void accept_one();
  bool make_room();
  void let_go_of_finished();

  const std::string path_, method_;
  const jitc_server_callbacks callbacks_;
  Descriptor listener_;
  Waker waker_;  // of the thread: it is to end, or a connection has ended
  std::atomic<bool> stops_{false};
  std::vector<std::shared_ptr<ServerConnection>> connections_;  // the thread's own, the oldest first
  std::thread thread_;
};

}  // namespace jitc::transport

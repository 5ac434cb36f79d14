// Accepts connections on a unix socket, and keeps them until they have ended.
//
// Called by: server_api.cpp. Promises: the socket is its user's alone; when it is destroyed, no thread of it
// runs and the socket's file is gone; too many connections (kMost) are closed at once, the others go on.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/socket.h"
#include "jitc/transport_server.h"

namespace jitc::transport {

class ServerConnection;

class Server {
 public:
  static constexpr size_t kMost = 1024;
  /// Throws std::system_error when it cannot listen.
  Server(std::string path, std::string method, const jitc_server_callbacks& callbacks);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  void accept_all();
  void accept_one();
  void let_go_of_finished();

  const std::string path_, method_;
  const jitc_server_callbacks callbacks_;
  Descriptor listener_, doorbell_;                              // an eventfd that ends the thread
  std::vector<std::shared_ptr<ServerConnection>> connections_;  // the thread's own
  std::thread thread_;
};

}  // namespace jitc::transport

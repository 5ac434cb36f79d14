// Connection of a session to the service's keeper: its closing reports the end of this process, and it
// carries the memory shared with the worker. So neither side needs to see the other's processes.
//
// Called by: reconnect.cpp, before the session is opened. Promises: every call blocks, with a time limit;
// children made by fork do not inherit the connection (process.h).
#pragma once
#include <string>

namespace jitc::session {

class KeeperConnection {
 public:
  KeeperConnection() = default;
  ~KeeperConnection() { close(); }
  KeeperConnection(const KeeperConnection&) = delete;
  KeeperConnection& operator=(const KeeperConnection&) = delete;

  /// Connects, replacing an earlier connection. Returns 0, or a negative errno.
  int open(const std::string& service_socket);
  /// Returns whether the keeper is still connected.
  bool stands() const;
  /// Returns the ticket that names this process to the service; empty before open.
  const std::string& ticket() const { return ticket_; }
  /// Returns a descriptor for the token's memory, which the caller closes; -1: none. Once per token.
  int memory(const std::string& token);

 private:
  void close();

  int fd_ = -1;
  std::string ticket_;
};

}  // namespace jitc::session

// A session's connection to the service's keeper: its end tells that this process has ended, and the memory
// that the session shares with its worker comes over it. So neither side needs to see the other's processes.
//
// Called by: reconnect.cpp, before the session is opened. Promises: every call blocks, with a time limit;
// children made by fork do not have the connection (process.h).
#pragma once
#include <string>

namespace jitc::session {

class KeeperConnection {
 public:
  KeeperConnection() = default;
  ~KeeperConnection() { close(); }
  KeeperConnection(const KeeperConnection&) = delete;
  KeeperConnection& operator=(const KeeperConnection&) = delete;

  /// Connects, in place of a connection before. Returns 0, or a negative errno.
  int open(const std::string& service_socket);
  /// Whether the keeper is still there.
  bool stands() const;
  /// What names this process to the service; empty before open.
  const std::string& ticket() const { return ticket_; }
  /// A descriptor of what the token stands for, which the caller closes; -1: nothing. Asked once.
  int memory(const std::string& token);

 private:
  void close();

  int fd_ = -1;
  std::string ticket_;
};

}  // namespace jitc::session

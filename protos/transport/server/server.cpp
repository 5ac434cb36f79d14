#include "server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <system_error>

#include "server_connection.h"

namespace jitc::transport {

Server::Server(std::string path, std::string method, const jitc_server_callbacks& callbacks)
    : path_(std::move(path)),
      method_(std::move(method)),
      callbacks_(callbacks),
      doorbell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  int error = 0;
  listener_ = listen_unix(path_, &error);
  if (!listener_) throw std::system_error(-error, std::generic_category(), "cannot listen on " + path_);
  if (!doorbell_) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::thread([this] { accept_all(); });
}

Server::~Server() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(doorbell_.get(), &one, sizeof one);
  thread_.join();
  ::unlink(path_.c_str());
  for (const auto& one : connections_) one->shut_down();
  for (const auto& one : connections_) one->join();
}

void Server::accept_all() {
  pthread_setname_np(pthread_self(), "jitc-accept");
  for (;;) {
    pollfd watched[] = {{listener_.get(), POLLIN, 0}, {doorbell_.get(), POLLIN, 0}};
    if (::poll(watched, std::size(watched), -1) < 0 && errno != EINTR) return;
    if (watched[1].revents) return;
    let_go_of_finished();
    if (watched[0].revents) accept_one();
  }
}

void Server::accept_one() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    // Without descriptors the client waits in the queue; looking at once again would only burn the processor.
    constexpr int kPauseMs = 100;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) ::poll(nullptr, 0, kPauseMs);
    return;
  }
  if (connections_.size() >= kMost) return;
  try {
    auto connection = std::make_shared<ServerConnection>(std::move(socket), method_, callbacks_);
    connection->start();
    connections_.push_back(std::move(connection));
  } catch (const std::exception&) {
    // No memory or thread for it: its client sees a closed connection, and tries again.
  }
}

void Server::let_go_of_finished() {
  std::erase_if(connections_, [](const auto& one) {
    if (one->finished()) one->join();
    return one->finished();
  });
}

}  // namespace jitc::transport

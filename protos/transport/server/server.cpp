#include "server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

#include "server_connection.h"

namespace jitc::transport {
namespace {

jitc_server_callbacks with_limit(jitc_server_callbacks callbacks) {
  if (callbacks.hello_ms == 0) callbacks.hello_ms = Server::kHelloSeconds * 1000;
  return callbacks;
}

}  // namespace

Server::Server(std::string path, std::string method, const jitc_server_callbacks& callbacks)
    : path_(std::move(path)), method_(std::move(method)), callbacks_(with_limit(callbacks)) {
  int error = 0;
  listener_ = listen_unix(path_, &error);
  if (!listener_) throw std::system_error(-error, std::generic_category(), "cannot listen on " + path_);
  thread_ = std::thread([this] { accept_all(); });
}

Server::~Server() {
  stops_ = true;
  waker_.now();
  thread_.join();
  ::unlink(path_.c_str());
  for (const auto& one : connections_) one->shut_down();
  for (const auto& one : connections_) one->join();
}

void Server::accept_all() {
  pthread_setname_np(pthread_self(), "jitc-accept");
  for (;;) {
    pollfd watched[] = {{listener_.get(), POLLIN, 0}, {waker_.doorbell(), POLLIN, 0}};
    if (::poll(watched, std::size(watched), -1) < 0 && errno != EINTR) return;
    if (watched[1].revents) waker_.take_doorbell();
    if (stops_) return;
    let_go_of_finished();
    if (watched[0].revents) accept_one();
  }
}

void Server::accept_one() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    // Without descriptors the client waits in the queue; a retry at once would only burn the processor.
    constexpr int kPauseMs = 100;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) ::poll(nullptr, 0, kPauseMs);
    return;
  }
  if (!make_room()) return;
  try {
    auto connection = std::make_shared<ServerConnection>(std::move(socket), method_, callbacks_, waker_);
    connection->start();
    connections_.push_back(std::move(connection));
  } catch (const std::exception&) {
    // No memory or thread for it: its client sees a closed connection, and tries again.
  }
}

/// Closes the oldest stranger, so that many of them do not keep out one that says hello at once; false: there
/// is none. One that says hello at this very moment may be hit: it reconnects, as after any lost connection.
bool Server::make_room() {
  if (connections_.size() >= kMost) return false;
  const auto stranger = [](const auto& one) { return one->stranger(); };
  if (static_cast<size_t>(std::ranges::count_if(connections_, stranger)) >= kStrangers)
    (*std::ranges::find_if(connections_, stranger))->turn_away();
  return true;
}

void Server::let_go_of_finished() {
  std::erase_if(connections_, [](const auto& one) {
    if (one->finished()) one->join();
    return one->finished();
  });
}

}  // namespace jitc::transport

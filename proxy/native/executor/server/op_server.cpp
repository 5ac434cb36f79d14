#include "op_server.h"

#include <dlfcn.h>

#include <charconv>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "jitc/protocol.h"
#include "op_stream.h"

namespace jitc {
namespace {

constexpr const char* kMethod = "/jitc.v1.Session/Ops";
/// Longest time that a client that reconnects waits for its own old stream to end.
constexpr auto kHandover = std::chrono::milliseconds(2000);

struct Refused {
  int status;
  std::string why;
};

const jitc_transport_server_api* open_transport(const std::string& path) {
  const std::string hint = "; install jitc again (in a checkout: make build)";
  if (path.empty()) throw Error("no \"transport\" library is named for the op streams");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error("cannot load " + path + " (" + dlerror() + ")" + hint);
  const auto get =
      reinterpret_cast<decltype(&jitc_transport_server_get)>(dlsym(library, "jitc_transport_server_get"));
  if (!get || get()->version != 2) throw Error(path + " is of another version" + hint);
  return get();
}

void set(jitc_ending& ending, int status, const std::string& text) {
  ending.status = status;
  std::strncpy(ending.text, text.c_str(), sizeof ending.text - 1);
}

uint64_t results_received(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw Refused{JITC_STATUS_INVALID_ARGUMENT, "jitc-results-received is no number: " + text.substr(0, 40)};
  return number;
}

}  // namespace

/// Context of the transport's callbacks.
struct OpServer::Client {
  Client(OpServer& of, std::shared_ptr<Session> its, std::shared_ptr<CallSender> sender)
      : server(of), session(std::move(its)), stream(session, std::move(sender)) {}

  OpServer& server;
  const std::shared_ptr<Session> session;
  OpStream stream;
};

OpServer::OpServer(const std::string& library, const std::string& socket, Find find)
    : api_(open_transport(library)), find_(std::move(find)) {
  const jitc_server_callbacks callbacks{this, begin, message, next, closed, 0};
  jitc_bytes error{};
  server_ = api_->start(socket.c_str(), kMethod, &callbacks, &error);
  if (server_) return;
  const std::string why(reinterpret_cast<const char*>(error.data), error.size);
  api_->release_bytes(&error);
  throw Error("the op streams cannot be served: " + why);
}

OpServer::~OpServer() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  api_->stop(server_);
}

// -- callbacks of the transport ------------------------------------------------------------------------

void* OpServer::begin(void* self, jitc_call* call, const jitc_metadata* metadata, size_t count,
                      jitc_ending* ending) {
  OpServer& server = *static_cast<OpServer*>(self);
  auto sender = std::make_shared<CallSender>(*server.api_, call);  // releases the call if it is refused
  try {
    std::unordered_map<std::string, std::string> named;
    for (size_t i = 0; i < count; ++i) named[metadata[i].key] = metadata[i].value;
    return server.admit(std::move(sender), named);
  } catch (const Refused& refused) {
    set(*ending, refused.status, refused.why);
  } catch (const std::exception& error) {
    set(*ending, JITC_STATUS_FAILED_PRECONDITION, error.what());
  }
  return nullptr;
}

int OpServer::message(void* client, const uint8_t* data, size_t size, jitc_ending* ending) {
  return static_cast<Client*>(client)->stream.message({reinterpret_cast<const std::byte*>(data), size},
                                                      *ending);
}

size_t OpServer::next(void* client, jitc_bytes* parts, size_t) {
  return static_cast<Client*>(client)->stream.next(parts);
}

void OpServer::closed(void* client) {
  const std::unique_ptr<Client> over(static_cast<Client*>(client));
  over->stream.end();
  over->server.release(over->session.get());
}

// -- owners of sessions --------------------------------------------------------------------------------

OpServer::Client* OpServer::admit(std::shared_ptr<CallSender> sender,
                                  const std::unordered_map<std::string, std::string>& metadata) {
  const auto value = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  if (const std::string version = value("jitc-protocol"); version != std::to_string(kProtocolVersion))
    throw Refused{JITC_STATUS_FAILED_PRECONDITION,
                  "protocol version " + (version.empty() ? "missing" : version) + " does not match " +
                      std::to_string(kProtocolVersion) +
                      " of this service; use the jitc library and service of one installation"};
  const std::shared_ptr<Session> session = find_(value("jitc-session"));
  if (!session) throw Refused{JITC_STATUS_NOT_FOUND, "this worker does not serve that session; attach again"};
  const std::string received = value("jitc-results-received");
  const uint64_t results = received.empty() ? 0 : results_received(received);
  if (!claim(session.get()))
    throw Refused{JITC_STATUS_ALREADY_EXISTS, "another process is connected to this session"};
  try {
    auto client = std::make_unique<Client>(*this, session, std::move(sender));
    client->stream.attach(results);
    return client.release();
  } catch (const std::exception& error) {
    release(session.get());
    throw Refused{JITC_STATUS_ALREADY_EXISTS, error.what()};
  }
}

/// Waits for an owner that is about to end. Returns false if another one is connected.
bool OpServer::claim(Session* session) {
  std::unique_lock lock(mutex_);
  const auto free = [&] { return stops_ || !owned_.contains(session); };
  if (!changed_.wait_for(lock, session->client().attached() ? kHandover / 4 : kHandover, free)) return false;
  if (stops_) return false;
  owned_.insert(session);
  return true;
}

void OpServer::release(const Session* session) {
  const std::lock_guard lock(mutex_);
  owned_.erase(session);
  changed_.notify_all();
}

}  // namespace jitc

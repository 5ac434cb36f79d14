// Session/Ops, the op streams of training processes: a gRPC server in the worker, without Python.
//
// Called by: Executor. Promises: one stream per session at a time, and a client that reconnects is not turned
// away by its own old stream; another protocol version, an unknown session and a second client are refused
// with a gRPC status and a text that says what to do. The transport is libjitc_transport.so, through its C
// interface only.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "jitc/transport_server.h"

namespace jitc {

class CallSender;
class Session;

class OpServer {
 public:
  /// Finds the session that a client names by its token, null if there is none.
  using Find = std::function<std::shared_ptr<Session>(const std::string& token)>;

  /// Starts the server. library: path of libjitc_transport.so. Throws Error with what is wrong.
  OpServer(const std::string& library, const std::string& socket, Find find);
  ~OpServer();
  OpServer(const OpServer&) = delete;
  OpServer& operator=(const OpServer&) = delete;

 private:
  struct Client;

  static void* begin(void* self, jitc_call* call, const jitc_metadata* metadata, size_t count,
                     jitc_ending* ending);
  static int message(void* client, const uint8_t* data, size_t size, jitc_ending* ending);
  static size_t next(void* client, jitc_bytes* parts, size_t capacity);
  static void closed(void* client);

  Client* admit(std::shared_ptr<CallSender> sender,
                const std::unordered_map<std::string, std::string>& metadata);
  bool claim(Session* session);
  void release(const Session* session);

  const jitc_transport_server_api* const api_;
  const Find find_;
  std::mutex mutex_;  // guards owned_, stops_
  std::condition_variable changed_;
  std::unordered_set<const Session*> owned_;  // sessions with a stream
  bool stops_ = false;
  jitc_server* server_ = nullptr;
};

}  // namespace jitc

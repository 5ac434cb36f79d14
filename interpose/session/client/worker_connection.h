// Op stream to one worker.
//
// Called by: session_client.cpp. A session has at most one; when it breaks, the session makes another. Its
// destruction joins the transport's thread, so the last reference must not be dropped in a callback.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jitc/transport.h"

namespace jitc::session {

class WorkerConnection;

/// Receiver of the events of a connection. All are called under the transport's I/O lock and must not block.
class ConnectionListener {
 public:
  virtual void on_completions(WorkerConnection& connection, std::span<const std::byte> records) = 0;
  virtual void on_closed(WorkerConnection& connection, int grpc_status, const char* text) = 0;
  /// Provides the spans of op records to send now, as one batch; 0 when there is nothing.
  virtual size_t on_ready(WorkerConnection& connection, std::span<const std::byte>* records, size_t capacity,
                          uint64_t* results_received) = 0;

 protected:
  ~ConnectionListener() = default;
};

class WorkerConnection {
 public:
  explicit WorkerConnection(ConnectionListener& listener) : listener_(listener) {}
  ~WorkerConnection();
  WorkerConnection(const WorkerConnection&) = delete;
  WorkerConnection& operator=(const WorkerConnection&) = delete;

  /// Connects; false and a text when there is no worker. Events may come before it returns.
  bool open(const std::string& socket, const std::string& token, uint64_t results_received,
            std::string* error);
  bool asleep() const { return api_->asleep(stream_) != 0; }
  void wake() { api_->wake(stream_); }
  int wait(int (*done)(void*), void* context, int timeout_ms) {
    return api_->wait(stream_, done, context, timeout_ms);
  }

  // Guarded by the session's lock.
  bool opened = false;  // open has returned: the functions above may be called
  bool acknowledged = false;
  bool closed = false;
  int closed_status = 0;
  std::string closed_text;

 private:
  static void message(void* self, const uint8_t* data, size_t size);
  static void ended(void* self, int status, const char* text);
  static size_t next(void* self, jitc_bytes* parts, size_t capacity);

  ConnectionListener& listener_;
  const jitc_transport_api* api_ = nullptr;
  jitc_stream* stream_ = nullptr;
  // Frame around the records of the batch that is being sent.
  uint8_t head_[16] = {}, tail_[16] = {};
};

}  // namespace jitc::session

// One gRPC call on an HTTP/2 connection of its own, as a state machine: bytes in, bytes out.
//
// Called by: connection.cpp, always under one lock. Promises: it has no I/O, thread or lock of its own;
// messages are delivered whole and in order; closed is called exactly once and nothing after it; a peer that
// breaks the protocol ends the call with a status and a text, never the process. nghttp2 keeps HTTP/2's own
// rules (frames, header compression, windows); this file adds gRPC.
#pragma once
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "common/framing.h"
#include "common/sending.h"
#include "jitc/transport.h"

namespace jitc::transport {

struct Request {
  std::string method;
  std::vector<std::pair<std::string, std::string>> metadata;
  bool single = false;  // unary: half-close after the queued message
};

class Call {
 public:
  Call(Request request, const jitc_stream_callbacks& callbacks);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Queues a message, to be sent before any from callbacks.next.
  void queue(std::vector<uint8_t> message);
  size_t queued() const { return queued_; }
  /// Produces bytes for the peer, as far as they fit and flow control allows.
  void produce(Outgoing& out);
  /// Takes in bytes from the peer.
  void receive(const uint8_t* data, size_t size);
  void ping();
  /// Cancels the call at the peer (RST_STREAM); closed is not called.
  void cancel();
  /// Ends the call from this side; closed is called, unless it was already.
  void fail(int status, const std::string& message);
  bool closed() const { return closed_; }
  /// Returns the gRPC status, once closed.
  int status() const { return status_; }
  /// Returns the number of messages delivered so far.
  uint64_t delivered() const { return delivered_; }
  /// Returns why the end of the connection is an error, as text for the user.
  std::string end_text() const;

 private:
  struct Callbacks;  // what nghttp2 calls
  friend struct Callbacks;

  bool start();
  bool fetch();
  void drop_message();
  void finish(uint32_t error_code);
  void on_header(std::string_view name, std::string_view value);

  Request request_;
  jitc_stream_callbacks callbacks_;
  nghttp2_session* session_ = nullptr;
  int32_t stream_ = -1;

  // Sending: the current message, and the queue of the caller.
  OutgoingMessage message_;
  std::deque<std::vector<uint8_t>> queue_;
  size_t queued_ = 0;
  bool from_queue_ = false, deferred_ = false;
  Outgoing* out_ = nullptr;

  // Receiving.
  Assembler assembler_;
  int http_status_ = 0, grpc_status_ = -1, status_ = 0;
  std::string grpc_message_;
  bool greeted_ = false, closed_ = false;
  uint64_t delivered_ = 0;
};

}  // namespace jitc::transport

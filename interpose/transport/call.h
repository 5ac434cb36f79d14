// One gRPC call on an HTTP/2 connection of its own, as a state machine: bytes in, bytes out.
//
// Called by: connection.cpp, always under one lock. Promises: it has no I/O, thread or lock of its own;
// messages are delivered whole and in order; closed is called exactly once and nothing after it; a peer that
// breaks the protocol ends the call with a status and a text, never the process. nghttp2 keeps HTTP/2's own
// rules (frames, header compression, windows); this file adds gRPC.
#pragma once
#include <nghttp2/nghttp2.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framing.h"
#include "jitc/transport.h"

namespace jitc::transport {

/// Bytes on their way to the socket; filled by Call::produce, emptied by the connection.
class Outgoing {
 public:
  static constexpr size_t kCapacity = size_t{288} << 10;
  Outgoing() : bytes_(std::make_unique_for_overwrite<uint8_t[]>(kCapacity)) {}
  size_t size() const { return end_ - begin_; }
  size_t room() const { return kCapacity - end_; }
  const uint8_t* data() const { return bytes_.get() + begin_; }
  void append(const uint8_t* data, size_t size);
  void consume(size_t size);

 private:
  std::unique_ptr<uint8_t[]> bytes_;  // not cleared: most calls never use most of it
  size_t begin_ = 0, end_ = 0;
};

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
  /// The gRPC status, once closed.
  int status() const { return status_; }
  /// Messages delivered so far.
  uint64_t delivered() const { return delivered_; }
  /// Why the end of the connection is an error, as text for the user.
  std::string end_text() const;

 private:
  struct Callbacks;  // what nghttp2 calls
  friend struct Callbacks;

  bool start();
  bool fetch();
  void drop_message();
  void copy_out(Outgoing& out, size_t size);
  void finish(uint32_t error_code);
  void on_header(std::string_view name, std::string_view value);

  Request request_;
  jitc_stream_callbacks callbacks_;
  nghttp2_session* session_ = nullptr;
  int32_t stream_ = -1;

  // Sending: the current message as spans (its prefix first), and the queue of the caller.
  static constexpr size_t kParts = 16;
  std::array<uint8_t, kPrefixBytes> prefix_{};
  std::array<jitc_bytes, kParts + 1> spans_{};
  size_t span_ = 0, spans_count_ = 0, left_ = 0;
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

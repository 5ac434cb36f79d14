// The server's side of an HTTP/2 connection with one gRPC call at a time, as a state machine: bytes in, bytes
// out.
//
// Called by: server_connection.cpp, always under its lock. Promises: no I/O, thread or lock of its own; input
// is reported in order, as events for the caller to carry out without the lock; a peer that breaks HTTP/2 or
// gRPC's rules gets an error and ends its connection. A second call at the same time is refused, with a
// status and a text.
#pragma once
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/sending.h"
#include "jitc/transport_server.h"

namespace jitc::transport {

/// An action of the client.
struct Event {
  enum class Kind { begun, data, half_closed, over };
  Kind kind;
  std::span<const uint8_t> data;  // in the bytes that receive() was given
};

struct Headers {
  std::string method, content_type;
  std::vector<std::pair<std::string, std::string>> metadata;
  size_t bytes = 0;
};

class AcceptedCall {
 public:
  /// Function that returns the next messages of the call that is open.
  using Next = size_t (*)(void* context, jitc_bytes* parts, size_t capacity);
  AcceptedCall(Next next, void* context);
  ~AcceptedCall();
  AcceptedCall(const AcceptedCall&) = delete;
  AcceptedCall& operator=(const AcceptedCall&) = delete;

  /// Takes in bytes. Returns false if the peer broke the protocol; the bytes left to produce report that.
  bool receive(std::span<const uint8_t> bytes, std::vector<Event>& events);
  /// Produces bytes for the peer, as far as they fit and flow control allows. Returns false at the end.
  bool produce(Outgoing& out);
  /// Returns the headers of the call that the `begun` event reported.
  const Headers& headers() const { return headers_; }
  void accept();
  /// Ends the call; an accepted one ends once next has nothing more.
  void finish(int status, const std::string& text);
  /// Allows the peer to send so many bytes more.
  void consume(size_t bytes);
  bool open() const { return phase_ == Phase::open || phase_ == Phase::ending; }
  /// Returns whether the call ended while something was produced, so that no event reports it.
  bool ended() const { return ended_; }
  /// Returns the same, and resets it.
  bool take_ended() { return std::exchange(ended_, false); }

 private:
  enum class Phase { none, begun, open, ending, over };
  struct Callbacks;  // what nghttp2 calls
  friend struct Callbacks;

  void begin_stream(int32_t stream);
  void turn_away(int32_t stream);
  int add_header(std::string_view name, std::string_view value);
  bool fetch();
  void send_trailers();
  void end();

  const Next next_;
  void* const context_;
  nghttp2_session* session_ = nullptr;
  int32_t stream_ = -1;
  Phase phase_ = Phase::none;
  Headers headers_;
  std::vector<Event>* events_ = nullptr;
  size_t unconsumed_ = 0;

  OutgoingMessage message_;
  Outgoing* out_ = nullptr;
  bool deferred_ = false, ended_ = false;
  std::string status_, text_;  // of the trailers
};

}  // namespace jitc::transport

// One client's op stream: its messages go into its session, the session's completions go out.
//
// Called by: OpServer, whose calls it serves. Promises: a message is taken in the connection's thread, so
// that an op needs no hop on its path into the journal; one for which there is no room now waits in a thread
// of this object's own, and the client is held back once kHeld bytes wait; a malformed message ends the
// stream with the session's text.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "executor/session/session.h"
#include "jitc/transport_server.h"

namespace jitc {

/// A call of the transport, for threads that outlive it.
class CallSender final : public CompletionSender {
 public:
  CallSender(const jitc_transport_server_api& api, jitc_call* call) : api_(api), call_(call) {}
  ~CallSender() override { api_.release(call_); }
  CallSender(const CallSender&) = delete;
  CallSender& operator=(const CallSender&) = delete;
  void now() override { api_.wake(call_); }
  void soon(std::chrono::nanoseconds time) override {
    api_.wake_after(call_, static_cast<uint64_t>(time.count()));
  }
  void pause(bool paused) { api_.pause(call_, paused); }
  void finish(const jitc_ending& ending) { api_.finish(call_, &ending); }

 private:
  const jitc_transport_server_api& api_;
  jitc_call* const call_;
};

class OpStream {
 public:
  using Bytes = std::span<const std::byte>;
  static constexpr size_t kHeld = size_t{8} << 20;

  OpStream(std::shared_ptr<Session> session, std::shared_ptr<CallSender> sender)
      : session_(std::move(session)), sender_(std::move(sender)) {}
  ~OpStream() { end(); }
  OpStream(const OpStream&) = delete;
  OpStream& operator=(const OpStream&) = delete;

  /// Attaches. Throws Error if another stream is attached.
  void attach(uint64_t results_received) { session_->client().attach(results_received, sender_); }
  /// Takes a message. Returns false, with the reason, if it is malformed.
  bool message(Bytes message, jitc_ending& why);
  size_t next(jitc_bytes* parts);
  /// Ends the stream: no message is taken or sent any more.
  void end();

 private:
  void hold(Bytes message);
  void submit_held();
  template <class Submit>
  bool guarded(Submit submit, jitc_ending& why);

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<CallSender> sender_;
  std::unique_ptr<std::byte[]> out_;  // a message in flight

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::vector<std::byte>> held_;
  size_t held_bytes_ = 0;
  bool ended_ = false, paused_ = false;
  std::thread submitter_;  // created when first needed
};

}  // namespace jitc

#include "call.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "common/http2.h"

namespace jitc::transport {

struct Call::Callbacks {
  static Call& call(void* user) { return *static_cast<Call*>(user); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t, void* user) noexcept {
    if (frame->hd.stream_id == call(user).stream_)
      call(user).on_header(view(name, name_size), view(value, value_size));
    return 0;
  }

  static int on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                     void* user) noexcept {
    Call& self = call(user);
    if (stream != self.stream_ || self.closed_) return 0;
    // An answer that is not gRPC may have any body; its status says what it is.
    if (self.http_status_ != 200) return 0;
    const bool good = self.assembler_.feed(data, size, [&](const uint8_t* message, size_t bytes) {
      ++self.delivered_;
      self.callbacks_.message(self.callbacks_.context, message, bytes);
    });
    if (!good) self.fail(kInternal, self.assembler_.error());
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    Call& self = call(user);
    if (frame->hd.type == NGHTTP2_SETTINGS) self.greeted_ = true;
    const bool content = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    // The server's trailers end the call, even if our direction is still open.
    if (content && frame->hd.stream_id == self.stream_ && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
      self.finish(0);
    return 0;
  }

  static int on_stream_close(nghttp2_session*, int32_t stream, uint32_t error_code, void* user) noexcept {
    if (stream == call(user).stream_) call(user).finish(error_code);
    return 0;
  }

  static ssize_t read(nghttp2_session*, int32_t, uint8_t*, size_t length, uint32_t* flags,
                      nghttp2_data_source*, void* user) noexcept {
    Call& self = call(user);
    if (self.message_.left() == 0 && !self.fetch()) {
      self.deferred_ = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    const size_t size = std::min(length, self.message_.left());
    if (self.request_.single && size == self.message_.left()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static int send_data(nghttp2_session*, nghttp2_frame*, const uint8_t* head, size_t length,
                       nghttp2_data_source*, void* user) noexcept {
    Call& self = call(user);
    if (!self.message_.copy_frame(*self.out_, {head, kFrameHeader}, length)) return NGHTTP2_ERR_WOULDBLOCK;
    if (self.message_.left() == 0) self.drop_message();
    return 0;
  }
};

Call::Call(Request request, const jitc_stream_callbacks& callbacks)
    : request_(std::move(request)), callbacks_(callbacks) {
  if (!start()) throw std::bad_alloc();
}

Call::~Call() { nghttp2_session_del(session_); }

bool Call::start() {
  nghttp2_session_callbacks* hooks = nullptr;
  if (nghttp2_session_callbacks_new(&hooks) != 0) return false;
  nghttp2_session_callbacks_set_on_header_callback(hooks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(hooks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(hooks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(hooks, Callbacks::on_stream_close);
  nghttp2_session_callbacks_set_send_data_callback(hooks, Callbacks::send_data);
  const int made = nghttp2_session_client_new(&session_, hooks, this);
  nghttp2_session_callbacks_del(hooks);
  if (made != 0) return false;

  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
                                             {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kFrame}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindow);
  std::vector<nghttp2_nv> headers = {
      header(":method", "POST"),        header(":scheme", "http"),
      header(":path", request_.method), header(":authority", "localhost"),
      header("te", "trailers"),         header("content-type", "application/grpc"),
      header("user-agent", "jitc")};
  for (const auto& [key, value] : request_.metadata) headers.push_back(header(key, value));
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::read;
  stream_ = nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &provider, nullptr);
  return stream_ > 0;
}

void Call::queue(std::vector<uint8_t> message) {
  queued_ += message.size() + kPrefixBytes;
  queue_.push_back(std::move(message));
}

/// Starts to send the next message. Returns false if there is none.
bool Call::fetch() {
  drop_message();
  if (closed_) return false;
  size_t parts = 0;
  if (!queue_.empty()) {
    *message_.parts() = {queue_.front().data(), queue_.front().size()};
    parts = 1;
    from_queue_ = true;
  } else if (callbacks_.next != nullptr) {
    parts = callbacks_.next(callbacks_.context, message_.parts(), OutgoingMessage::kParts);
  }
  if (parts > 0) message_.begin(parts);
  return parts > 0;
}

void Call::drop_message() {
  if (from_queue_) {
    queued_ -= queue_.front().size() + kPrefixBytes;
    queue_.pop_front();
  }
  from_queue_ = false;
  message_.clear();
}

void Call::produce(Outgoing& out) {
  out_ = &out;
  if (deferred_ && !closed_ && fetch()) {
    deferred_ = false;
    nghttp2_session_resume_data(session_, stream_);
  }
  if (const int error = fill(session_, out); error != 0)
    return fail(kInternal, std::string("HTTP/2: ") + nghttp2_strerror(error));
  // After an error of the peer, nghttp2 sends GOAWAY and then wants nothing more.
  if (!nghttp2_session_want_read(session_) && !nghttp2_session_want_write(session_))
    fail(kInternal, end_text());
}

void Call::receive(const uint8_t* data, size_t size) {
  const ssize_t used = nghttp2_session_mem_recv(session_, data, size);
  if (closed_) return;
  if (used < 0 || (!nghttp2_session_want_read(session_) && !nghttp2_session_want_write(session_)) ||
      static_cast<size_t>(used) != size)
    fail(kInternal, end_text());
}

void Call::on_header(std::string_view name, std::string_view value) {
  if (name == ":status") http_status_ = std::atoi(std::string(value).c_str());
  if (name == "content-type" && http_status_ == 200 && !value.starts_with("application/grpc"))
    fail(kUnknownStatus, "the server answered with " + std::string(value) + ", which is not gRPC");
  if (name == "grpc-status") grpc_status_ = std::atoi(std::string(value).c_str());
  if (name == "grpc-message") grpc_message_ = percent_decode(value);
}

void Call::finish(uint32_t error_code) {
  if (closed_) return;
  if (grpc_status_ >= 0) return fail(grpc_status_, grpc_message_);
  if (http_status_ != 0 && http_status_ != 200)
    return fail(status_of_http(http_status_),
                "the server answered with HTTP status " + std::to_string(http_status_));
  if (error_code == 0) return fail(kInternal, "the server ended the call without a status");
  fail(status_of_reset(error_code), std::string("the call was reset: ") + nghttp2_http2_strerror(error_code));
}

void Call::ping() { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }

void Call::cancel() {
  if (!closed_) nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_, NGHTTP2_CANCEL);
  closed_ = true;
  status_ = kCancelled;
}

void Call::fail(int status, const std::string& message) {
  if (closed_) return;
  closed_ = true;
  status_ = status;
  callbacks_.closed(callbacks_.context, status, message.c_str());
}

std::string Call::end_text() const {
  return greeted_ ? "the server closed the connection"
                  : "the server does not speak gRPC (no HTTP/2 greeting came)";
}

}  // namespace jitc::transport

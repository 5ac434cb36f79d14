#include "accepted_call.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "common/http2.h"

namespace jitc::transport {
namespace {

constexpr size_t kHeaderBytes = 16 << 10;
// Streams that a client may open: a second call is refused with a reason; one that had to queue would wait
// without a word.
constexpr uint32_t kStreams = 16;

}  // namespace

struct AcceptedCall::Callbacks {
  static AcceptedCall& call(void* user) { return *static_cast<AcceptedCall*>(user); }

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    const bool request = frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    if (frame->hd.type == NGHTTP2_HEADERS && request) call(user).begin_stream(frame->hd.stream_id);
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t, void* user) noexcept {
    if (frame->hd.stream_id != call(user).stream_) return 0;
    return call(user).add_header(view(name, name_size), view(value, value_size));
  }

  static int on_data(nghttp2_session* session, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                     void* user) noexcept {
    AcceptedCall& self = call(user);
    if (stream != self.stream_ || self.phase_ == Phase::over) {
      nghttp2_session_consume_connection(session, size);
      return 0;
    }
    self.unconsumed_ += size;
    self.events_->push_back({Event::Kind::data, {data, size}});
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    AcceptedCall& self = call(user);
    if (frame->hd.type == NGHTTP2_HEADERS && frame->hd.stream_id != self.stream_)
      self.turn_away(frame->hd.stream_id);
    if (frame->hd.stream_id != self.stream_ || self.phase_ == Phase::over) return 0;
    const bool headers = frame->hd.type == NGHTTP2_HEADERS;
    if (headers && self.phase_ == Phase::none) {
      self.phase_ = Phase::begun;
      self.events_->push_back({Event::Kind::begun, {}});
    }
    if ((headers || frame->hd.type == NGHTTP2_DATA) && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
      self.events_->push_back({Event::Kind::half_closed, {}});
    return 0;
  }

  static int on_frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void*) noexcept {
    const bool last = frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
    // A client that continues to send need not: its bytes are discarded (RFC 9113, 8.1).
    if (last) nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
  }

  static int on_stream_close(nghttp2_session*, int32_t stream, uint32_t, void* user) noexcept {
    if (stream == call(user).stream_) call(user).end();
    return 0;
  }

  static ssize_t read(nghttp2_session*, int32_t, uint8_t*, size_t length, uint32_t* flags,
                      nghttp2_data_source*, void* user) noexcept {
    AcceptedCall& self = call(user);
    if (self.message_.left() == 0 && !self.fetch()) {
      if (self.phase_ == Phase::ending) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        self.send_trailers();
        return 0;
      }
      self.deferred_ = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    return static_cast<ssize_t>(std::min(length, self.message_.left()));
  }

  static int send_data(nghttp2_session*, nghttp2_frame*, const uint8_t* head, size_t length,
                       nghttp2_data_source*, void* user) noexcept {
    AcceptedCall& self = call(user);
    if (!self.message_.copy_frame(*self.out_, {head, kFrameHeader}, length)) return NGHTTP2_ERR_WOULDBLOCK;
    return 0;
  }
};

AcceptedCall::AcceptedCall(Next next, void* context) : next_(next), context_(context) {
  nghttp2_session_callbacks* hooks = nullptr;
  nghttp2_option* options = nullptr;
  if (nghttp2_session_callbacks_new(&hooks) != 0) throw std::bad_alloc();
  if (nghttp2_option_new(&options) != 0) {
    nghttp2_session_callbacks_del(hooks);
    throw std::bad_alloc();
  }
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_session_callbacks_set_on_begin_headers_callback(hooks, Callbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(hooks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(hooks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(hooks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(hooks, Callbacks::on_frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(hooks, Callbacks::on_stream_close);
  nghttp2_session_callbacks_set_send_data_callback(hooks, Callbacks::send_data);
  const int made = nghttp2_session_server_new2(&session_, hooks, this, options);
  nghttp2_option_del(options);
  nghttp2_session_callbacks_del(hooks);
  if (made != 0) throw std::bad_alloc();
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kStreams},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
                                             {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kFrame},
                                             {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeaderBytes}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindow);
}

AcceptedCall::~AcceptedCall() { nghttp2_session_del(session_); }

// -- receiving -----------------------------------------------------------------------------------------

void AcceptedCall::begin_stream(int32_t stream) {
  if (phase_ != Phase::none && phase_ != Phase::over) return;  // refused when its headers are there
  stream_ = stream;
  phase_ = Phase::none;
  headers_ = {};
  message_.clear();
  deferred_ = false;
}

void AcceptedCall::turn_away(int32_t stream) {
  const nghttp2_nv headers[] = {
      header(":status", "200"), header("content-type", "application/grpc"),
      header("grpc-status", "8"),  // RESOURCE_EXHAUSTED
      header("grpc-message", "a connection serves one call at a time: open another one")};
  nghttp2_submit_response(session_, stream, headers, std::size(headers), nullptr);
}

int AcceptedCall::add_header(std::string_view name, std::string_view value) {
  headers_.bytes += name.size() + value.size();
  if (headers_.bytes > kHeaderBytes) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
  if (name == ":path")
    headers_.method = value;
  else if (name == "content-type")
    headers_.content_type = value;
  else if (!name.starts_with(':'))
    headers_.metadata.emplace_back(name, value);
  return 0;
}

bool AcceptedCall::receive(std::span<const uint8_t> bytes, std::vector<Event>& events) {
  events_ = &events;
  const ssize_t used = nghttp2_session_mem_recv(session_, bytes.data(), bytes.size());
  events_ = nullptr;
  return used >= 0 && static_cast<size_t>(used) == bytes.size();
}

void AcceptedCall::consume(size_t bytes) {
  bytes = std::min(bytes, unconsumed_);
  unconsumed_ -= bytes;
  if (phase_ == Phase::over || nghttp2_session_consume(session_, stream_, bytes) != 0)
    nghttp2_session_consume_connection(session_, bytes);
}

/// Ends the call, closed by either side. Its bytes count on the connection, also where they were not read.
void AcceptedCall::end() {
  if (phase_ == Phase::over) return;
  const bool told = phase_ != Phase::none;
  phase_ = Phase::over;
  nghttp2_session_consume_connection(session_, std::exchange(unconsumed_, 0));
  if (told && events_ != nullptr) events_->push_back({Event::Kind::over, {}});
  if (told && events_ == nullptr) ended_ = true;
}

// -- sending -------------------------------------------------------------------------------------------

void AcceptedCall::accept() {
  if (phase_ != Phase::begun) return;
  phase_ = Phase::open;
  const nghttp2_nv headers[] = {header(":status", "200"), header("content-type", "application/grpc")};
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::read;
  nghttp2_submit_response(session_, stream_, headers, std::size(headers), &provider);
}

void AcceptedCall::finish(int status, const std::string& text) {
  if (phase_ != Phase::begun && phase_ != Phase::open) return;
  status_ = std::to_string(status);
  text_ = percent_encode(text);
  if (phase_ == Phase::open) {
    phase_ = Phase::ending;
    return;
  }
  phase_ = Phase::ending;
  const nghttp2_nv headers[] = {header(":status", "200"), header("content-type", "application/grpc"),
                                header("grpc-status", status_), header("grpc-message", text_)};
  nghttp2_submit_response(session_, stream_, headers, std::size(headers), nullptr);
}

void AcceptedCall::send_trailers() {
  const nghttp2_nv trailers[] = {header("grpc-status", status_), header("grpc-message", text_)};
  nghttp2_submit_trailer(session_, stream_, trailers, std::size(trailers));
}

bool AcceptedCall::fetch() {
  message_.clear();
  if (!open()) return false;
  const size_t parts = next_(context_, message_.parts(), OutgoingMessage::kParts);
  if (parts == JITC_CALL_ENDS) finish(kOk, "");
  if (parts == 0 || parts == JITC_CALL_ENDS) return false;
  message_.begin(parts);
  return true;
}

bool AcceptedCall::produce(Outgoing& out) {
  out_ = &out;
  if (deferred_ && open()) {
    const bool more = fetch();
    if (more || phase_ == Phase::ending) {
      deferred_ = false;
      nghttp2_session_resume_data(session_, stream_);
    }
  }
  if (fill(session_, out) != 0) return false;
  return nghttp2_session_want_read(session_) || nghttp2_session_want_write(session_) || out.size() > 0;
}

}  // namespace jitc::transport

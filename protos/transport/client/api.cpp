// The C functions of libjitc_transport.so (jitc/transport.h). No exception leaves them.
#include <poll.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "stream.h"

struct jitc_stream {
  jitc::transport::Stream stream;
};

namespace jitc::transport {
namespace {

void set_bytes(jitc_bytes* out, const void* data, size_t size) {
  out->data = static_cast<uint8_t*>(std::malloc(size + 1));
  out->size = out->data != nullptr ? size : 0;
  if (out->data == nullptr) return;
  if (size > 0) std::memcpy(out->data, data, size);
  out->data[size] = 0;  // texts can be used as C strings
}

void set_text(jitc_bytes* out, const std::string& text) { set_bytes(out, text.data(), text.size()); }

std::string connect_error(const char* path, int error) {
  return std::string("cannot connect to ") + path + ": " + std::strerror(-error);
}

/// The reply of a unary call.
struct Reply {
  std::string message, text;
  int status = -1;

  static void on_message(void* self, const uint8_t* data, size_t size) {
    static_cast<Reply*>(self)->message.assign(reinterpret_cast<const char*>(data), size);
  }
  static void on_closed(void* self, int status, const char* text) {
    static_cast<Reply*>(self)->status = status;
    static_cast<Reply*>(self)->text = text;
  }
};

/// Drives a connection in this thread until its call is over.
void finish_call(Connection& connection, int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!connection.call().closed()) {
    connection.pump_out();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return connection.call().fail(kDeadlineExceeded, "no answer within the time limit");
    pollfd socket{connection.fd(), static_cast<short>(POLLIN | (connection.blocked() ? POLLOUT : 0)), 0};
    ::poll(&socket, 1, static_cast<int>(left));
    connection.pump_in();
  }
}

int unary(const char* path, const char* method, const void* request, size_t size, int timeout_ms,
          jitc_bytes* out) {
  *out = {};
  try {
    int error = 0;
    Descriptor socket = connect_unix(path, &error);
    if (!socket) return set_text(out, connect_error(path, error)), error;
    Reply reply;
    const jitc_stream_callbacks callbacks{&reply, Reply::on_message, Reply::on_closed, nullptr, 0, 0};
    Connection connection(std::move(socket), {method, {}, true}, callbacks);
    const auto* bytes = static_cast<const uint8_t*>(request);
    connection.call().queue({bytes, bytes + size});
    finish_call(connection, timeout_ms);
    set_text(out, reply.status == kOk ? reply.message : reply.text);
    return reply.status;
  } catch (const std::exception& failure) {
    return set_text(out, failure.what()), kInternal;
  }
}

jitc_stream* open(const char* path, const char* method, const jitc_metadata* metadata, size_t count,
                  const jitc_stream_callbacks* callbacks, jitc_bytes* error) {
  *error = {};
  try {
    int code = 0;
    Descriptor socket = connect_unix(path, &code);
    if (!socket) return set_text(error, connect_error(path, code)), nullptr;
    Request request{method, {}, false};
    for (size_t i = 0; i < count; ++i) request.metadata.emplace_back(metadata[i].key, metadata[i].value);
    return new jitc_stream{{std::move(socket), std::move(request), *callbacks}};
  } catch (const std::exception& failure) {
    return set_text(error, failure.what()), nullptr;
  }
}

int send(jitc_stream* stream, const jitc_bytes* parts, size_t count) {
  try {
    return stream->stream.send(parts, count);
  } catch (const std::exception&) {
    return kResourceExhausted;
  }
}

int asleep(const jitc_stream* stream) { return stream->stream.asleep(); }
void wake(jitc_stream* stream) { stream->stream.wake(); }
int wait(jitc_stream* stream, int (*done)(void*), void* context, int timeout_ms) {
  return stream->stream.wait(done, context, timeout_ms);
}
void close(jitc_stream* stream) { delete stream; }
void release(jitc_bytes* bytes) {
  std::free(bytes->data);
  *bytes = {};
}

constexpr jitc_transport_api kApi{1, unary, open, send, asleep, wake, wait, close, release};

}  // namespace
}  // namespace jitc::transport

extern "C" __attribute__((visibility("default"))) const jitc_transport_api* jitc_transport_get(void) {
  return &jitc::transport::kApi;
}

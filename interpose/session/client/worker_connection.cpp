#include "worker_connection.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "session/library.h"
#include "session/message.h"
#include "session/service/protobuf.h"
#include "session/service/service_rpc.h"

namespace jitc::session {
namespace {

constexpr const char* kMethod = "/jitc.v1.Session/Ops";
constexpr uint8_t kRecordsTag = 1 << 3 | 2;   // OpBatch.records, length-delimited
constexpr uint8_t kReceivedTag = 2 << 3 | 1;  // OpBatch.results_received, fixed64

jitc_bytes bytes_of(std::span<const std::byte> span) {
  // The transport's interface has one type for bytes that it writes and bytes that it only reads.
  return {const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(span.data())), span.size()};
}

}  // namespace

WorkerConnection::~WorkerConnection() {
  if (stream_ != nullptr) api_->close(stream_);
}

bool WorkerConnection::open(const std::string& socket, const std::string& token, uint64_t results_received,
                            std::string* error) {
  api_ = transport();
  if (api_ == nullptr) return *error = "the transport library is missing", false;
  const std::string version = std::to_string(kProtocolVersion), received = std::to_string(results_received);
  const jitc_metadata metadata[] = {{"jitc-protocol", version.c_str()},
                                    {"jitc-session", token.c_str()},
                                    {"jitc-results-received", received.c_str()}};
  const jitc_stream_callbacks callbacks{this, message, ended, next, 0, 0};
  jitc_bytes text{};
  stream_ = api_->open(socket.c_str(), kMethod, metadata, std::size(metadata), &callbacks, &text);
  if (stream_ == nullptr) error->assign(reinterpret_cast<const char*>(text.data), text.size);
  api_->release(&text);
  return stream_ != nullptr;
}

void WorkerConnection::message(void* self, const uint8_t* data, size_t size) {
  WorkerConnection& connection = *static_cast<WorkerConnection*>(self);
  wire::Reader reader({reinterpret_cast<const char*>(data), size});
  while (reader.next()) {
    if (reader.field() == 1)
      connection.listener_.on_completions(connection, std::as_bytes(std::span(reader.bytes())));
  }
  if (!reader.good()) message_once("a damaged message came from the worker; it is ignored");
}

void WorkerConnection::ended(void* self, int status, const char* text) {
  WorkerConnection& connection = *static_cast<WorkerConnection*>(self);
  connection.listener_.on_closed(connection, status, text);
}

size_t WorkerConnection::next(void* self, jitc_bytes* parts, size_t capacity) {
  WorkerConnection& connection = *static_cast<WorkerConnection*>(self);
  std::array<std::span<const std::byte>, 14> records;
  uint64_t received = 0;
  const size_t count = connection.listener_.on_ready(connection, records.data(),
                                                     std::min(records.size(), capacity - 2), &received);
  if (count == 0) return 0;
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    parts[1 + i] = bytes_of(records[i]);
    total += records[i].size();
  }
  connection.head_[0] = kRecordsTag;
  parts[0] = {connection.head_, 1 + wire::put_varint(connection.head_ + 1, total)};
  connection.tail_[0] = kReceivedTag;
  std::memcpy(connection.tail_ + 1, &received, sizeof received);
  parts[1 + count] = {connection.tail_, 1 + sizeof received};
  return count + 2;
}

}  // namespace jitc::session

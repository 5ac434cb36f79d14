// gRPC's own framing on HTTP/2: length-prefixed messages and the status in the trailers.
//
// Called by: client/call.cpp, server/. Promises: no I/O; a message of any size is assembled from pieces of
// any size; an absurd length (damage, another protocol) is an error before memory is allocated for it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace jitc::transport {

inline constexpr size_t kPrefixBytes = 5;
inline constexpr size_t kMessageLimit = size_t{64} << 20;

/// gRPC status codes that originate here.
enum Status : int {
  kOk = 0,
  kCancelled = 1,
  kUnknownStatus = 2,
  kDeadlineExceeded = 4,
  kResourceExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

void write_prefix(uint8_t* out, size_t size);
std::string percent_decode(std::string_view text);
/// Encodes a status message: printable ASCII stays, except for the percent sign.
std::string percent_encode(std::string_view text);
/// Returns the gRPC status for an HTTP status, and for an HTTP/2 error code, if no grpc-status came.
int status_of_http(int http_status);
int status_of_reset(uint32_t error_code);

/// Assembler of messages.
class Assembler {
 public:
  /// Calls deliver(data, size) for every whole message. Returns false, with an error, if they are not gRPC.
  template <class Deliver>
  bool feed(const uint8_t* data, size_t size, Deliver&& deliver) {
    while (size > 0) {
      if (buffer_.empty() && size >= kPrefixBytes) {  // the common case: whole messages, no copy
        if (!read_prefix(data)) return false;
        if (size - kPrefixBytes >= expected_) {
          deliver(data + kPrefixBytes, expected_);
          data += kPrefixBytes + expected_;
          size -= kPrefixBytes + expected_;
          continue;
        }
      }
      const size_t taken = take(data, size);
      if (taken == 0) return false;
      data += taken;
      size -= taken;
      if (buffer_.size() >= kPrefixBytes && buffer_.size() == kPrefixBytes + expected_) {
        deliver(buffer_.data() + kPrefixBytes, expected_);
        buffer_.clear();
      }
    }
    return true;
  }
  const std::string& error() const { return error_; }
  /// Returns the bytes of an incomplete message.
  size_t partial() const { return buffer_.size(); }

 private:
  bool read_prefix(const uint8_t* prefix);
  size_t take(const uint8_t* data, size_t size);

  std::vector<uint8_t> buffer_;
  size_t expected_ = 0;
  std::string error_;
};

}  // namespace jitc::transport

#include "framing.h"

#include <algorithm>

namespace jitc::transport {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void write_prefix(uint8_t* out, size_t size) {
  out[0] = 0;  // not compressed
  for (int byte = 0; byte < 4; ++byte) out[1 + byte] = static_cast<uint8_t>(size >> (24 - 8 * byte));
}

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%')
      out += c;
    else
      ((out += '%') += kDigits[byte >> 4]) += kDigits[byte & 15];
  }
  return out;
}

int status_of_http(int http_status) {
  switch (http_status) {
    case 400:
      return kInternal;
    case 401:
      return 16;  // UNAUTHENTICATED
    case 403:
      return 7;  // PERMISSION_DENIED
    case 404:
      return kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return kUnavailable;
    default:
      return kUnknownStatus;
  }
}

int status_of_reset(uint32_t error_code) {
  switch (error_code) {
    case 0x7:
      return kUnavailable;  // REFUSED_STREAM
    case 0x8:
      return kCancelled;  // CANCEL
    case 0xb:
      return kResourceExhausted;  // ENHANCE_YOUR_CALM
    default:
      return kInternal;
  }
}

bool Assembler::read_prefix(const uint8_t* prefix) {
  expected_ = static_cast<size_t>(prefix[1]) << 24 | static_cast<size_t>(prefix[2]) << 16 |
              static_cast<size_t>(prefix[3]) << 8 | prefix[4];
  if (prefix[0] != 0) {
    error_ = "the server sent a compressed message although none was asked for";
    return false;
  }
  if (expected_ > kMessageLimit) {
    error_ = "the server announced a message of " + std::to_string(expected_) + " bytes; the limit is " +
             std::to_string(kMessageLimit);
    return false;
  }
  return true;
}

/// Adds bytes to the current message, at most up to its end. Returns 0 if they cannot be a message.
size_t Assembler::take(const uint8_t* data, size_t size) {
  size_t taken = 0;
  if (buffer_.size() < kPrefixBytes) {
    taken = std::min(size, kPrefixBytes - buffer_.size());
    buffer_.insert(buffer_.end(), data, data + taken);
    if (buffer_.size() < kPrefixBytes) return taken;
    if (!read_prefix(buffer_.data())) return 0;
    buffer_.reserve(kPrefixBytes + expected_);
  }
  const size_t rest = std::min(size - taken, kPrefixBytes + expected_ - buffer_.size());
  buffer_.insert(buffer_.end(), data + taken, data + taken + rest);
  return taken + rest;
}

}  // namespace jitc::transport

// Calls of nghttp2 that both ends make in the same way.
//
// Called by: client/call.cpp, server/accepted_call.cpp.
#pragma once
#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sending.h"

namespace jitc::transport {

// Large windows, so that a megabyte's worth of ops or results never waits for a WINDOW_UPDATE's round trip.
inline constexpr int32_t kWindow = 16 << 20;
inline constexpr uint32_t kFrame = 1 << 20;
inline constexpr size_t kFrameHeader = 9;

/// Makes a header; nghttp2 copies it when it is submitted.
inline nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

inline std::string_view view(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Takes frames from nghttp2, as far as they fit. Returns 0, or its error.
inline int fill(nghttp2_session* session, Outgoing& out) {
  while (out.room() >= Outgoing::kFrameRoom) {
    const uint8_t* data = nullptr;
    const size_t before = out.size();
    const ssize_t size = nghttp2_session_mem_send(session, &data);
    if (size < 0) return static_cast<int>(size);
    if (size > 0) out.append(data, static_cast<size_t>(size));
    if (out.size() == before) break;
  }
  return 0;
}

}  // namespace jitc::transport

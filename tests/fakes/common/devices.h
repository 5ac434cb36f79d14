// What the fake driver and the fake NVML must tell alike of a physical device.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>

namespace jitc::fakes {

inline constexpr char kDeviceName[] = "JITC Fake GPU";

inline int device_count() {
  const char* text = std::getenv("JITC_FAKE_DEVICES");
  return text && *text ? std::atoi(text) : 1;
}

inline size_t device_memory() {
  const char* text = std::getenv("JITC_FAKE_MEMORY");
  return text && *text ? std::strtoull(text, nullptr, 10) : size_t{1} << 30;
}

/// Memory that can be mapped for RDMA: the attribute of the device, and whether it can be made.
enum class Rdma { none, works, refused };
inline Rdma rdma() {
  const char* text = std::getenv("JITC_FAKE_RDMA");
  if (!text || !*text) return Rdma::none;
  return std::string(text) == "refused" ? Rdma::refused : Rdma::works;
}

/// As nvidia-smi writes it; its bytes are "jitcfake" and the number.
inline std::string uuid_text(int physical) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-6a697463-6661-6b65-0000-%012x", static_cast<unsigned>(physical + 1));
  return text;
}

}  // namespace jitc::fakes

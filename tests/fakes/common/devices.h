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

/// What a context takes of it.
inline size_t context_memory() {
  const char* text = std::getenv("JITC_FAKE_CONTEXT_MEMORY");
  return text && *text ? std::strtoull(text, nullptr, 10) : 0;
}

/// What memory can have beside its content: what the device's attribute says, and whether it can be made.
enum class Kind { none, works, refused };
inline Kind kind_in(const char* name, Kind otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  if (std::string(text) == "none") return Kind::none;
  return std::string(text) == "refused" ? Kind::refused : Kind::works;
}
/// Memory that can be mapped for RDMA.
inline Kind rdma() { return kind_in("JITC_FAKE_RDMA", Kind::none); }
/// Memory that can be exported as a file descriptor.
inline Kind exports() { return kind_in("JITC_FAKE_EXPORTS", Kind::works); }

/// As nvidia-smi writes it; its bytes are "jitcfake" and the number.
inline std::string uuid_text(int physical) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-6a697463-6661-6b65-0000-%012x", static_cast<unsigned>(physical + 1));
  return text;
}

}  // namespace jitc::fakes

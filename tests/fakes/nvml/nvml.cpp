// A fake libnvidia-ml: the devices of the fake driver, and events that a test writes into a file.
// Written for nvidia-ml-py, whose declarations are in Python: structures are those of its ctypes classes.
// JITC_FAKE_NVML_EVENTS names the file; a line is "xid DEVICE CODE", "ecc DEVICE" or "lost DEVICE". An event
// set sees the lines written after it was made; a lost device is lost for good.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "../common/call_log.h"
#include "../common/devices.h"

#define JITC_NVML extern "C" __attribute__((visibility("default"))) int

namespace jitc::fakes {
namespace {
enum Result {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalid = 2,
  kNotFound = 6,
  kTooSmall = 7,
  kTimeout = 10,
  kLost = 15
};
constexpr uint64_t kDoubleBitEcc = 2, kXid = 8, kSupported = 0x1F;

struct Event {
  std::string kind;
  int device = -1;
  uint64_t code = 0;
};

struct EventSet {
  size_t read = 0;
  std::map<int, uint64_t> wanted;
};

struct State {
  std::mutex mutex;
  int users = 0;
  std::map<uint64_t, EventSet> sets;
  uint64_t next = 0x900;
};

State& state() {
  static State* const one = new State;
  return *one;
}

std::vector<Event> events() {
  std::vector<Event> all;
  const char* path = std::getenv("JITC_FAKE_NVML_EVENTS");
  std::ifstream file(path ? path : "");
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) break;  // a line that is still being written
    Event event;
    std::istringstream(line) >> event.kind >> event.device >> event.code;
    all.push_back(event);
  }
  return all;
}

bool lost(int device) {
  for (const Event& event : events())
    if (event.kind == "lost" && event.device == device) return true;
  return false;
}

uint64_t type_of(const Event& event) {
  return event.kind == "xid" ? kXid : event.kind == "ecc" ? kDoubleBitEcc : 0;
}

void* handle_of(int device) { return reinterpret_cast<void*>(static_cast<uintptr_t>(0x1000 + device * 16)); }

/// The device of a handle, or -1.
int device_of(const void* handle) {
  for (int each = 0; each < device_count(); ++each)
    if (handle == handle_of(each)) return each;
  return -1;
}

template <class Body>
int call(const char* name, Body body) {
  CallLine line("nvml", name);
  if (const int asked = asked_failure(name)) {
    while (asked == kHang) ::pause();
    line.finish(asked);
    return asked;
  }
  bool ready;
  {
    const std::lock_guard lock(state().mutex);
    ready = state().users > 0;
  }
  const int result = ready ? body() : int{kUninitialized};
  line.finish(result);
  return result;
}

/// Calls the body with the number of a device that is there and not lost.
template <class Body>
int device_call(const char* name, const void* handle, Body body) {
  return call(name, [&]() -> int {
    const int device = device_of(handle);
    if (device < 0) return kInvalid;
    return lost(device) ? int{kLost} : body(device);
  });
}

int put(char* out, unsigned size, const std::string& text) {
  if (text.size() + 1 > size) return kTooSmall;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

int start() {
  const std::lock_guard lock(state().mutex);
  ++state().users;
  return kSuccess;
}

struct EventData {
  void* device;
  uint64_t type, data;
  unsigned gpu_instance, compute_instance;
};

/// The next event that the set waits for. False: none yet.
bool next_event(void* handle, EventData& out, int& result) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().sets.find(reinterpret_cast<uint64_t>(handle));
  if (found == state().sets.end()) return result = kInvalid, true;
  const std::vector<Event> all = events();
  EventSet& set = found->second;
  while (set.read < all.size()) {
    const Event& event = all[set.read++];
    if (!(set.wanted[event.device] & type_of(event))) continue;
    out = {handle_of(event.device), type_of(event), event.code, ~0u, ~0u};
    return result = kSuccess, true;
  }
  return false;
}
}  // namespace

JITC_NVML nvmlInit() { return start(); }  // PyTorch asks for this one
JITC_NVML nvmlInit_v2() { return start(); }
JITC_NVML nvmlInitWithFlags(unsigned) { return start(); }
JITC_NVML nvmlShutdown() {
  return call("nvmlShutdown", [] {
    const std::lock_guard lock(state().mutex);
    --state().users;
    return int{kSuccess};
  });
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int code) {
  static const std::map<int, const char*> kTexts = {{kSuccess, "Success"},
                                                    {kTimeout, "Timeout"},
                                                    {kLost, "GPU is lost"},
                                                    {kUninitialized, "Uninitialized"}};
  const auto found = kTexts.find(code);
  return found == kTexts.end() ? "Unknown Error" : found->second;
}

JITC_NVML nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return call("nvmlSystemGetDriverVersion", [&] { return put(out, size, "580.00.00"); });
}
JITC_NVML nvmlSystemGetCudaDriverVersion_v2(int* out) {
  return call("nvmlSystemGetCudaDriverVersion_v2", [&] { return *out = 13000, int{kSuccess}; });
}
JITC_NVML nvmlDeviceGetCount_v2(unsigned* out) {
  return call("nvmlDeviceGetCount_v2",
              [&] { return *out = static_cast<unsigned>(device_count()), int{kSuccess}; });
}
JITC_NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  return call("nvmlDeviceGetHandleByIndex_v2", [&]() -> int {
    if (index >= static_cast<unsigned>(device_count())) return kInvalid;
    *out = handle_of(static_cast<int>(index));
    return lost(static_cast<int>(index)) ? kLost : kSuccess;
  });
}
JITC_NVML nvmlDeviceGetHandleByUUID(const char* uuid, void** out) {
  return call("nvmlDeviceGetHandleByUUID", [&]() -> int {
    for (int each = 0; each < device_count(); ++each)
      if (uuid_text(each) == uuid) return *out = handle_of(each), lost(each) ? kLost : kSuccess;
    return kNotFound;
  });
}
JITC_NVML nvmlDeviceGetIndex(void* handle, unsigned* out) {
  return device_call("nvmlDeviceGetIndex", handle,
                     [&](int device) { return *out = static_cast<unsigned>(device), int{kSuccess}; });
}
JITC_NVML nvmlDeviceGetName(void* handle, char* out, unsigned size) {
  return device_call("nvmlDeviceGetName", handle, [&](int) { return put(out, size, kDeviceName); });
}
JITC_NVML nvmlDeviceGetUUID(void* handle, char* out, unsigned size) {
  return device_call("nvmlDeviceGetUUID", handle,
                     [&](int device) { return put(out, size, uuid_text(device)); });
}
JITC_NVML nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* total_free_used) {
  return device_call("nvmlDeviceGetMemoryInfo", handle, [&](int) {
    total_free_used[0] = total_free_used[1] = device_memory();
    total_free_used[2] = 0;
    return int{kSuccess};
  });
}
JITC_NVML nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  return device_call("nvmlDeviceGetCudaComputeCapability", handle,
                     [&](int) { return *major = 9, *minor = 0, int{kSuccess}; });
}

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
JITC_NVML nvmlDeviceGetPciInfo_v3(void* handle, PciInfo* out) {
  return device_call("nvmlDeviceGetPciInfo_v3", handle, [&](int device) {
    *out = {};
    out->bus = static_cast<unsigned>(device + 1) & 0xFF;
    std::snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", out->bus & 0xFF);
    std::snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus & 0xFF);
    return int{kSuccess};
  });
}

JITC_NVML nvmlEventSetCreate(void** out) {
  return call("nvmlEventSetCreate", [&] {
    const std::lock_guard lock(state().mutex);
    state().sets[++state().next].read = events().size();
    *out = reinterpret_cast<void*>(state().next);
    return int{kSuccess};
  });
}
JITC_NVML nvmlDeviceGetSupportedEventTypes(void* handle, unsigned long long* types) {
  return device_call("nvmlDeviceGetSupportedEventTypes", handle,
                     [&](int) { return *types = kSupported, int{kSuccess}; });
}
JITC_NVML nvmlDeviceRegisterEvents(void* handle, unsigned long long types, void* set) {
  return device_call("nvmlDeviceRegisterEvents", handle, [&](int device) -> int {
    const std::lock_guard lock(state().mutex);
    const auto found = state().sets.find(reinterpret_cast<uint64_t>(set));
    if (found == state().sets.end()) return kInvalid;
    found->second.wanted[device] |= types;
    return kSuccess;
  });
}
JITC_NVML nvmlEventSetWait_v2(void* set, EventData* out, unsigned timeout_ms) {
  return call("nvmlEventSetWait_v2", [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (int result = kSuccess;;) {
      if (next_event(set, *out, result)) return result;
      if (std::chrono::steady_clock::now() >= until) return int{kTimeout};
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
}
JITC_NVML nvmlEventSetFree(void* set) {
  return call("nvmlEventSetFree", [&] {
    const std::lock_guard lock(state().mutex);
    return state().sets.erase(reinterpret_cast<uint64_t>(set)) ? int{kSuccess} : int{kInvalid};
  });
}

}  // namespace jitc::fakes

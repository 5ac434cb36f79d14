// Settings (see settings.h), and the functions of the runtime API for flags of a device.
#include "settings.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "api/generated/generated_api.h"
#include "session/message.h"
#include "visible_devices.h"

namespace jitc::api {
namespace {
// cudaDeviceSchedule*, cudaDeviceMapHost, cudaDeviceLmemResizeToMax, cudaDeviceSyncMemops; the driver has the
// same flags.
constexpr uint32_t kSchedule = 7, kMapHost = 8, kResizeToMax = 16, kSyncMemops = 128;
std::array<std::atomic<uint32_t>, kMaxDevices> flags_of_devices;

bool are_known(uint32_t flags) {
  const uint32_t schedule = flags & kSchedule;
  return !(flags & ~(kSchedule | kMapHost | kResizeToMax | kSyncMemops)) && !(schedule & (schedule - 1));
}

/// Returns the name; nullptr: no such attribute. All concern speed; none changes a stream's results.
const char* name_of_stream_attribute(int32_t attribute) {
  switch (attribute) {
    case kAccessPolicyWindow:
      return "access policy window";
    case kSynchronizationPolicy:
      return "synchronization policy";
    case kLaunchPriority:
      return "priority";
    case kMemorySyncDomainMap:
      return "memory domain map";
    case kMemorySyncDomain:
      return "memory domain";
    default:
      return nullptr;
  }
}

// CUjit_option: those that the call writes. Before the call a size is that of the buffer, afterwards of the
// text.
constexpr int32_t kWallTime = 2, kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6;

/// Returns whether the image is machine code of one kind of GPU: it is not compiled, so CUDA ignores options.
bool is_machine_code(std::span<const std::byte> image) {
  constexpr std::array<char, 4> kElf{'\x7f', 'E', 'L', 'F'};
  return image.size() >= kElf.size() && std::memcmp(image.data(), kElf.data(), kElf.size()) == 0;
}

/// Returns true if the option is an output. Logs are empty, because the message of the device's compiler
/// comes with its error.
bool answer(int32_t option, void*& value, bool has_room) {
  switch (option) {
    case kWallTime:
    case kInfoLogBytes:
    case kErrorLogBytes:
      value = nullptr;  // the number 0 (0.0f) stored as a pointer
      return true;
    case kInfoLog:
    case kErrorLog:
      if (value && has_room) *static_cast<char*>(value) = 0;
      return true;
    default:
      return false;
  }
}
}  // namespace

Status set_device_flags(int device, uint32_t flags) {
  if (!are_known(flags)) return kInvalidValue;
  flags_of_devices[static_cast<size_t>(device)] = flags;
  if (flags & kSyncMemops)
    session::message_once("the flag for synchronous memory operations (cudaDeviceSyncMemops) has no effect");
  return kSuccess;
}

uint32_t device_flags(int device) { return flags_of_devices[static_cast<size_t>(device)]; }

int32_t cudaSetDeviceFlags(uint32_t flags) {
  if (!visible_count()) return kNoDevice;
  return set_device_flags(current_device(), flags);
}
int32_t cudaGetDeviceFlags(uint32_t* flags) {
  if (!flags) return kInvalidValue;
  *flags = device_flags(current_device());
  return kSuccess;
}

Status accept_stream_attribute(int32_t attribute) {
  const char* const name = name_of_stream_attribute(attribute);
  if (!name) return kInvalidValue;
  session::message_once("cudaStreamSetAttribute(" + std::to_string(attribute) + ") has no effect: the " +
                        name + " of streams stays as it is");
  return kSuccess;
}

void answer_jit_options(const char* function, std::span<const std::byte> image, uint32_t count,
                        const int32_t* options, void** values) {
  if (!options || !values) return;
  const auto has_bytes = [&](int32_t size_option) {
    const int32_t* const found = std::find(options, options + count, size_option);
    return found != options + count && values[found - options] != nullptr;
  };
  const bool info = has_bytes(kInfoLogBytes), error = has_bytes(kErrorLogBytes);
  for (uint32_t i = 0; i < count; ++i) {
    if (answer(options[i], values[i], options[i] == kInfoLog ? info : error) || is_machine_code(image))
      continue;
    session::message_once("option " + std::to_string(options[i]) + " of " + function +
                          " has no effect: the driver compiles as it does without");
  }
}

}  // namespace jitc::api

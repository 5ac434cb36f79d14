// cuInit, devices, primary contexts, error names, cuGetProcAddress.
#include "../common/devices.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "call.h"
#include "capture.h"
#include "functions.h"
#include "modules.h"

namespace jitc::fakes {
namespace {
constexpr int kDriverVersion = 13000;

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::atoi(text) : otherwise;
}

CUuuid uuid_of(int physical) {
  CUuuid uuid = {{'j', 'i', 't', 'c', 'f', 'a', 'k', 'e', 0, 0, 0, 0, 0, 0, 0, 0}};
  uuid.bytes[15] = static_cast<char>(physical + 1);
  return uuid;
}

/// CUDA_VISIBLE_DEVICES as the driver reads it: indices or unique ids, cut at the first that does not exist.
std::vector<int> visible_devices() {
  const int count = device_count();
  std::vector<int> devices;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list) {
    for (int each = 0; each < count; ++each) devices.push_back(each);
    return devices;
  }
  std::string rest = list;
  while (!rest.empty()) {
    const std::string one = rest.substr(0, rest.find(','));
    rest = rest.find(',') == std::string::npos ? "" : rest.substr(rest.find(',') + 1);
    int physical = one.empty() || one[0] < '0' || one[0] > '9' ? -1 : std::atoi(one.c_str());
    for (int each = 0; each < count && one.size() > 4; ++each)
      if (uuid_text(each).rfind(one, 0) == 0) physical = each;
    if (physical < 0 || physical >= count) break;
    devices.push_back(physical);
  }
  return devices;
}

/// The physical index of a device.
int checked(CUdevice device) {
  const auto& devices = Driver::instance().devices;
  if (device < 0 || static_cast<size_t>(device) >= devices.size()) throw Failure{kInvalidDevice};
  return devices[static_cast<size_t>(device)];
}

void bus_id(char* text, size_t size, int physical) {
  std::snprintf(text, size, "0000:%02X:00.0", static_cast<unsigned>(physical + 1));
}

/// Those of an H200 where they matter; 0 for the others.
int attribute(int id, int physical) {
  static const std::map<int, int> kValues = {
      {1, 1024},      {2, 1024},  {3, 1024}, {4, 64},          {5, 2147483647}, {6, 65535},    {7, 65535},
      {8, 49152},     {9, 65536}, {10, 32},  {11, 2147483647}, {12, 65536},     {13, 1980000}, {14, 512},
      {16, 132},      {19, 1},    {31, 1},   {32, 1},          {34, 0},         {36, 3201000}, {37, 6144},
      {38, 62914560}, {39, 2048}, {40, 3},   {41, 1},          {50, 0},         {51, 32},      {75, 9},
      {76, 0},        {78, 1},    {79, 1},   {80, 1},          {81, 233472},    {82, 65536},   {83, 1},
      {89, 1},        {90, 1},    {91, 1},   {92, 1},          {93, 1},         {94, 1},       {95, 1},
      {97, 232448},   {99, 1},    {102, 1},  {106, 32},        {111, 1024},     {115, 0},      {120, 1},
      {122, 1},       {123, 1}};
  if (id == 33) return physical + 1;  // PCI bus
  if (id == 103) return exports() != Kind::none;
  if (id == 110) return rdma() != Kind::none;
  const auto found = kValues.find(id);
  return found == kValues.end() ? 0 : found->second;
}

struct ErrorName {
  int code;
  const char *name, *text;
};
constexpr ErrorName kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kAssert, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kCooperativeTooLarge, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "too many blocks in cooperative launch"},
    {kInvalidClusterSize, "CUDA_ERROR_INVALID_CLUSTER_SIZE",
     "a kernel launch error has occurred due to cluster misconfiguration"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
};

int describe(int code, const char** out, const char* ErrorName::* which) {
  if (!out) return kInvalidValue;
  *out = nullptr;
  for (const ErrorName& each : kErrors)
    if (each.code == code) *out = each.*which;
  return *out ? int{kSuccess} : int{kInvalidValue};
}

struct Entry {
  const char* name;
  void* address;
};
#define JITC_FAKE(name, ...) {#name, reinterpret_cast<void*>(&name)},
constexpr int kNewestVariant = 4;
void* address_of(const std::string& name) {
  static const Entry kEntries[] = {
#include "functions.def"
  };
  for (const Entry& each : kEntries)
    if (name == each.name) return each.address;
  return nullptr;
}
#undef JITC_FAKE

/// Of a function with several versions the newest that a program built for `version` can know.
void* variant_of(const std::string& name, int version) {
  for (int variant = kNewestVariant; variant > 1; --variant) {
    if (name == "cuStreamGetCaptureInfo" && variant > 2 && version < 12030) continue;
    if (void* found = address_of(name + "_v" + std::to_string(variant))) return found;
  }
  return address_of(name);
}

/// With Driver::mutex held.
Driver::Primary& primary(CUdevice device) {
  checked(device);
  return Driver::instance().primary[device];
}

void end_primary(std::unique_lock<std::mutex>& lock, CUdevice device) {
  Driver& driver = Driver::instance();
  const ContextPointer context = std::move(driver.primary[device].context);
  if (!context) return;
  context->end(lock);
  std::erase_if(driver.contexts, [&](const auto& each) { return each.second == context; });
  std::erase_if(driver.events, [&](const auto& each) { return each.second.context == context; });
  forget_captures(*context);
  forget_graphs(*context);
  forget_modules(context);
  lock.unlock();
  Memory::instance().free_all(device);
  Memory::instance().credit(device, context_memory());
  lock.lock();
}
}  // namespace

int cuInit(unsigned flags) {
  return call("cuInit", Needs::nothing, {Field::count("flags", flags)}, [&](Call& noted) {
    noted.note(Field::text("environment", environment_seen().c_str()));
    if (flags) throw Failure{kInvalidValue};
    const auto lock = locked();
    Driver& driver = Driver::instance();
    if (!driver.ready) driver.devices = visible_devices();
    if (driver.devices.empty()) throw Failure{kNoDevice};
    driver.ready = true;
  });
}

int cuDriverGetVersion(int* version) {
  return call("cuDriverGetVersion", Needs::nothing, {},
              [&](Call&) { *needed(version) = number_in("JITC_FAKE_DRIVER_VERSION", kDriverVersion); });
}

int cuGetErrorName(int code, const char** out) { return describe(code, out, &ErrorName::name); }
int cuGetErrorString(int code, const char** out) { return describe(code, out, &ErrorName::text); }

int cuGetProcAddress_v2(const char* symbol, void** address, int version, uint64_t flags, int* status) {
  return call("cuGetProcAddress_v2", Needs::nothing,
              {Field::text("symbol", symbol), Field::count("version", static_cast<uint64_t>(version)),
               Field::count("flags", flags)},
              [&](Call&) {
                *needed(address) = variant_of(needed(symbol), version);
                if (status) *status = *address ? 0 : 1;
                if (!*address) throw Failure{kNotFound};
              });
}

int cuDeviceGet(CUdevice* device, int ordinal) {
  return call("cuDeviceGet", Needs::driver, {}, [&](Call&) {
    checked(ordinal);
    *needed(device) = ordinal;
  });
}

int cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", Needs::driver, {},
              [&](Call&) { *needed(count) = static_cast<int>(Driver::instance().devices.size()); });
}

int cuDeviceGetName(char* name, int size, CUdevice device) {
  return call("cuDeviceGetName", Needs::driver, {}, [&](Call&) {
    checked(device);
    std::snprintf(needed(name), static_cast<size_t>(size), "%s", kDeviceName);
  });
}

int cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return call("cuDeviceGetUuid_v2", Needs::driver, {},
              [&](Call&) { *needed(uuid) = uuid_of(checked(device)); });
}

int cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return call("cuDeviceTotalMem_v2", Needs::driver, {}, [&](Call&) {
    checked(device);
    *needed(bytes) = Memory::total();
  });
}

int cuDeviceGetAttribute(int* value, int id, CUdevice device) {
  return call("cuDeviceGetAttribute", Needs::driver, {Field::count("attribute", static_cast<uint64_t>(id))},
              [&](Call&) {
                if (id < 1 || id > 160) throw Failure{kInvalidValue};
                *needed(value) = attribute(id, checked(device));
              });
}

int cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
  return call("cuDeviceGetPCIBusId", Needs::driver, {}, [&](Call&) {
    if (size < 13) throw Failure{kInvalidValue};
    bus_id(needed(text), static_cast<size_t>(size), checked(device));
  });
}

int cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  return call("cuDeviceGetByPCIBusId", Needs::driver, {Field::text("bus", text)}, [&](Call&) {
    const int count = static_cast<int>(Driver::instance().devices.size());
    for (int each = 0; each < count; ++each) {
      char own[16];
      bus_id(own, sizeof own, checked(each));
      if (std::strcmp(own, needed(text)) == 0) return void(*needed(device) = each);
    }
    throw Failure{kInvalidValue};
  });
}

int cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call("cuDeviceCanAccessPeer", Needs::driver, {}, [&](Call&) {
    checked(device), checked(peer);
    *needed(can) = device != peer;
  });
}

int cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  return call("cuDevicePrimaryCtxRetain", Needs::driver,
              {Field::count("device", static_cast<uint64_t>(device))}, [&](Call& call) {
                const auto lock = locked();
                Driver& driver = Driver::instance();
                auto& own = primary(device);
                if (!own.context) {
                  Memory::instance().charge(device, context_memory());
                  own.context = std::make_shared<Context>(device);
                  driver.contexts[driver.new_handle()] = own.context;
                }
                ++own.retained;
                for (const auto& [handle, context] : driver.contexts)
                  if (context == own.context) *needed(out) = handle_of<CUcontext>(handle);
                call.note(Field::address("out", *out));
              });
}

int cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return call("cuDevicePrimaryCtxRelease_v2", Needs::driver,
              {Field::count("device", static_cast<uint64_t>(device))}, [&](Call&) {
                auto lock = locked();
                auto& own = primary(device);
                if (!own.retained) throw Failure{kInvalidContext};
                if (--own.retained == 0) end_primary(lock, device);
              });
}

int cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return call("cuDevicePrimaryCtxReset_v2", Needs::driver,
              {Field::count("device", static_cast<uint64_t>(device))}, [&](Call&) {
                auto lock = locked();
                primary(device);
                end_primary(lock, device);
              });
}

int cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return call("cuDevicePrimaryCtxSetFlags_v2", Needs::driver, {Field::count("flags", flags)}, [&](Call&) {
    const auto lock = locked();
    primary(device).flags = flags;
  });
}

int cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return call("cuDevicePrimaryCtxGetState", Needs::driver, {}, [&](Call&) {
    const auto lock = locked();
    *needed(flags) = primary(device).flags;
    *needed(active) = primary(device).context != nullptr;
  });
}

int cuCtxSetCurrent(CUcontext handle) {
  return call("cuCtxSetCurrent", Needs::driver, {Field::address("context", handle)}, [&](Call&) {
    const auto lock = locked();
    const auto& contexts = Driver::instance().contexts;
    const auto found = contexts.find(number_of(handle));
    if (handle && found == contexts.end()) throw Failure{kInvalidContext};
    current_context() = handle ? found->second : nullptr;
  });
}

int cuCtxGetCurrent(CUcontext* out) {
  return call("cuCtxGetCurrent", Needs::driver, {}, [&](Call&) {
    const auto lock = locked();
    *needed(out) = nullptr;
    for (const auto& [handle, context] : Driver::instance().contexts)
      if (context == current_context()) *out = handle_of<CUcontext>(handle);
  });
}

int cuCtxGetDevice(CUdevice* device) {
  return call("cuCtxGetDevice", Needs::driver, {}, [&](Call&) {
    if (!current_context()) throw Failure{kInvalidContext};
    *needed(device) = current_context()->ordinal;
  });
}

int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call("cuCtxGetStreamPriorityRange", Needs::context, {}, [&](Call&) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
  });
}

/// The size of the heap is fixed once a kernel has used it; the stack is rounded up.
int cuCtxSetLimit(int limit, size_t value) {
  return call("cuCtxSetLimit", Needs::context,
              {Field::count("limit", static_cast<uint64_t>(limit)), Field::count("value", value)},
              [&](Call& call) {
                const auto lock = locked();
                auto& limits = call.context().limits;
                if (!limits.contains(limit)) throw Failure{kUnsupportedLimit};
                if (limit == kHeapLimit && call.context().heap_used) throw Failure{kInvalidValue};
                limits[limit] = limit == kStackLimit ? (value + 15) / 16 * 16 : value;
              });
}

int cuCtxGetLimit(size_t* value, int limit) {
  return call("cuCtxGetLimit", Needs::context, {Field::count("limit", static_cast<uint64_t>(limit))},
              [&](Call& call) {
                const auto lock = locked();
                const auto found = call.context().limits.find(limit);
                if (found == call.context().limits.end()) throw Failure{kUnsupportedLimit};
                *needed(value) = found->second;
              });
}

int cuCtxSynchronize() {
  return call("cuCtxSynchronize", Needs::unsafe, {}, [&](Call& call) {
    auto lock = locked();
    call.context().wait_all(lock, call.context().tails());
  });
}

}  // namespace jitc::fakes

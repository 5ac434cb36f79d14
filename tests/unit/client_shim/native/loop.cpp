// Preloaded by the tests of PyTorch on the software device: a CUDA runtime in the process's own memory, and
// the jitc_* functions with the operators library behind them instead of a worker. Everything is synchronous.
// It stands in for interposer, transport and worker, so that encoder and decoder are tested against each
// other without them.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jitc/client_api.h"
#include "jitc/gpu_questions.h"
#include "jitc/kernel_server.h"
#include "jitc/operators_api.h"

#define LOOP extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;
std::map<uint64_t, uint64_t> allocations;
thread_local int current_device = 0;
thread_local std::string message;
std::atomic<long> calls, queries, begins, ends;
std::atomic<size_t> live_blocks, live_bytes;
std::atomic<int> phases[3], events_held;
std::atomic<jitc_workspace_listener> workspace_listener{nullptr};

const jitc_operators* operators() {
  static const jitc_operators* table = [] {
    void* library = dlopen(getenv("JITC_TEST_OPERATORS"), RTLD_NOW | RTLD_LOCAL);
    if (!library) abort();
    return reinterpret_cast<const jitc_operators* (*)()>(dlsym(library, "jitc_operators_get"))();
  }();
  return table;
}

void* translate(void*, uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex);
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return nullptr;
  --after;
  if (address - after->first > after->second || bytes > after->second - (address - after->first))
    return nullptr;
  return reinterpret_cast<void*>(address);
}

int primary_context_state(int, unsigned*, int* active) { return *active = 1, 0; }
int no_driver() { return 801; }

/// With JITC_TEST_RECORD, the answered queries go to that file, with the memory that each was shown
/// (record_operator_samples.py): u32 and bytes of the query, u32 ranges, per range u64 address, u32 and
/// bytes.
class Record {
 public:
  explicit Record(const char* path) : file_(fopen(path, "a")) {
    if (!file_) abort();
  }
  static Record* get() {
    static const char* const path = getenv("JITC_TEST_RECORD");
    static Record* const one = path ? new Record(path) : nullptr;
    return one;
  }
  void begin() { ranges_.clear(); }
  void shown(uint64_t address, uint64_t bytes) {
    constexpr uint64_t kMost = 512;
    if (bytes)
      ranges_.emplace_back(address,
                           std::string(reinterpret_cast<const char*>(address), std::min(bytes, kMost)));
  }
  void query(const void* call, size_t size) {
    const auto put = [&](const void* data, size_t bytes) { fwrite(data, 1, bytes, file_); };
    const auto put_text = [&](const void* data, size_t bytes) {
      const auto count = static_cast<uint32_t>(bytes);
      put(&count, sizeof count);
      put(data, bytes);
    };
    put_text(call, size);
    const auto count = static_cast<uint32_t>(ranges_.size());
    put(&count, sizeof count);
    for (const auto& [address, bytes] : ranges_) {
      put(&address, sizeof address);
      put_text(bytes.data(), bytes.size());
    }
    fflush(file_);
  }

 private:
  FILE* file_;
  std::vector<std::pair<uint64_t, std::string>> ranges_;
};

void* translate_and_record(void* context, uint64_t address, uint64_t bytes) {
  void* const memory = translate(context, address, bytes);
  if (memory) Record::get()->shown(address, bytes);
  return memory;
}

const jitc_operator_host host{nullptr, &translate, 0, nullptr};
const jitc_operator_host recording_host{nullptr, &translate_and_record, 0, nullptr};

}  // namespace

LOOP int jitc_device_kind(void) { return 1; }
LOOP void jitc_step_begin_live(const jitc_live_block*, size_t) { ++begins; }
LOOP void jitc_step_end(const jitc_live_block* blocks, size_t count) {
  ++ends;
  live_blocks = count;
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += blocks[i].bytes;
  live_bytes = bytes;
}
LOOP void jitc_follow_memory(uint64_t, size_t, int) {}
LOOP void jitc_backward_begins(void) {}
LOOP void jitc_set_phase(int phase) { ++phases[phase]; }
LOOP void jitc_set_phase_source(int (*)()) {}
LOOP void jitc_set_element_type(jitc_element_type) {}
LOOP void jitc_set_site_source(jitc_site_source) {}
LOOP int jitc_checks_order() { return 0; }
LOOP void jitc_expect_steps(void) {}
LOOP void jitc_set_workspace_listener(jitc_workspace_listener listener) { workspace_listener = listener; }
LOOP void jitc_note_wait(int, void*) {}
LOOP int jitc_device_count(void) { return 2; }
LOOP void jitc_set_kernel_server(jitc_kernel_server) {}
LOOP void jitc_step_begin() {}  // for allocators that cannot be followed
LOOP const char* jitc_last_message(void) { return message.c_str(); }
LOOP void jitc_reply_free(jitc_reply* reply) { free(reply->data); }

LOOP int jitc_operator_call(int, void*, const void* call, size_t size) {
  ++calls;
  jitc_operator_reply reply{};
  const int status = operators()->call(&host, static_cast<const uint8_t*>(call), size, &reply);
  if (status) message.assign(reinterpret_cast<const char*>(reply.data), reply.size);
  return status ? 0x10001 : 0;
}
LOOP int jitc_operator_query(int, void*, const void* call, size_t size, jitc_reply* out) {
  ++queries;
  jitc_operator_reply reply{};
  Record* const record = Record::get();
  if (record) record->begin();
  const int status =
      operators()->query(record ? &recording_host : &host, static_cast<const uint8_t*>(call), size, &reply);
  if (record && !status) record->query(call, size);
  out->data = static_cast<uint8_t*>(malloc(reply.size + 1));
  memcpy(out->data, reply.data, reply.size);
  out->size = reply.size;
  out->status = status == 3 ? 710 : status ? 0x10001 : 0;
  return static_cast<int>(out->status);
}

/// For the tests: calls, queries, steps begun, steps ended, live blocks, live bytes, times backward was
/// entered.
LOOP long loop_count(int what) {
  switch (what) {
    case 0:
      return calls;
    case 1:
      return queries;
    case 2:
      return begins;
    case 3:
      return ends;
    case 4:
      return static_cast<long>(live_blocks);
    case 5:
      return static_cast<long>(live_bytes);
    default:
      return phases[1];
  }
}

/// As a cuBLAS handle that gets this memory as its workspace, or loses it.
LOOP void loop_workspace(uint64_t address, size_t bytes, int set) {
  workspace_listener.load()(address, bytes, set);
}

LOOP int cuDevicePrimaryCtxGetState(int, unsigned*, int* active) { return *active = 1, 0; }
LOOP int cuGetErrorString(int, const char** text) { return *text = "error", 0; }
LOOP cudaError_t cudaGetDeviceCount(int* count) { return *count = 2, cudaSuccess; }
LOOP cudaError_t cudaGetDevice(int* device) { return *device = current_device, cudaSuccess; }
LOOP cudaError_t cudaSetDevice(int device) { return current_device = device, cudaSuccess; }
LOOP cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
LOOP cudaError_t cudaGetLastError(void) { return cudaSuccess; }
LOOP cudaError_t cudaPeekAtLastError(void) { return cudaSuccess; }
LOOP cudaError_t cudaFree(void* address) {
  const std::lock_guard lock(mutex);
  allocations.erase(reinterpret_cast<uint64_t>(address));
  free(address);
  return cudaSuccess;
}
LOOP cudaError_t cudaMalloc(void** address, size_t bytes) {
  *address = aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!*address) return cudaErrorMemoryAllocation;
  memset(*address, 0xcd, bytes);  // nobody may count on zeros
  const std::lock_guard lock(mutex);
  allocations[reinterpret_cast<uint64_t>(*address)] = bytes;
  return cudaSuccess;
}
LOOP cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  memcpy(to, from, bytes);
  return cudaSuccess;
}
LOOP cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  memcpy(to, from, bytes);
  return cudaSuccess;
}
LOOP cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  memset(to, value, bytes);
  return cudaSuccess;
}
LOOP cudaError_t cudaMemGetInfo(size_t* unused, size_t* total) {
  *total = *unused = size_t{1} << 34;
  return cudaSuccess;
}
LOOP cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "loop");
  properties->major = 9;
  properties->multiProcessorCount = 16;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = properties->maxThreadsPerMultiProcessor = 1024;
  properties->totalGlobalMem = size_t{1} << 34;
  return cudaSuccess;
}
LOOP cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) { return *value = 1, cudaSuccess; }
LOOP cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -1;
  return cudaSuccess;
}
LOOP cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 0, cudaSuccess; }
LOOP cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
LOOP cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
LOOP cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
LOOP cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
LOOP cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
LOOP cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
LOOP cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  static std::atomic<uintptr_t> next{0x1000};
  *stream = reinterpret_cast<cudaStream_t>(next += 16);
  return cudaSuccess;
}
LOOP cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  static std::atomic<uintptr_t> next{0x1000};
  *event = reinterpret_cast<cudaEvent_t>(next += 16);
  return cudaSuccess;
}
LOOP cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
LOOP cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
LOOP cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned) { return cudaSuccess; }
/// While set, no event is done.
LOOP void loop_hold_events(int hold) { events_held = hold; }
LOOP cudaError_t cudaEventQuery(cudaEvent_t) { return events_held ? cudaErrorNotReady : cudaSuccess; }
LOOP cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
LOOP cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
  return *address = malloc(bytes), cudaSuccess;
}
LOOP cudaError_t cudaFreeHost(void* address) { return free(address), cudaSuccess; }
LOOP cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  memset(attributes, 0, sizeof *attributes);
  const bool ours = translate(nullptr, reinterpret_cast<uint64_t>(address), 1);
  attributes->type = ours ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->devicePointer = ours ? const_cast<void*>(address) : nullptr;
  return cudaSuccess;
}
#if CUDART_VERSION < 13000
#define EDGES  // in CUDA 12 the name stands for a function that tells no edges
#else
#define EDGES const cudaGraphEdgeData**,
#endif
LOOP cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long*,
                                          cudaGraph_t*, const cudaGraphNode_t**, EDGES size_t*) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
LOOP cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                                  unsigned long long,
                                                  cudaDriverEntryPointQueryResult* found) {
  const bool state = !strcmp(symbol, "cuDevicePrimaryCtxGetState");
  *function = state ? reinterpret_cast<void*>(&primary_context_state) : reinterpret_cast<void*>(&no_driver);
  if (found) *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
LOOP cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}
LOOP cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}
LOOP cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) {
  return cudaErrorNotSupported;
}
LOOP const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorAssert) return "device-side assert triggered";
  return error == cudaErrorNotSupported ? "operation not supported" : "error";
}

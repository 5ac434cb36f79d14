// Queries about the service's GPUs without using them (jitc/gpu_questions.h), for NVML.
//
// Called by: interpose/nvml. Promise: no session is opened.
#include "jitc/gpu_questions.h"

#include <array>
#include <cstdio>
#include <new>

#include "attributes.h"
#include "jitc/generated_ops.h"
#include "jitc/packed_reader.h"

namespace jitc::api {
namespace {

// CU_DEVICE_ATTRIBUTE_...
constexpr int32_t kClockRate = 13, kPciBus = 33, kPciDevice = 34, kPciDomain = 50;

/// Returns a GPU of all that the service has; nullptr: there is no such GPU.
const GpuInfo* gpu_of_service(int gpu) {
  if (forked()) return nullptr;
  const auto& all = Node::instance().gpus();
  return gpu >= 0 && static_cast<size_t>(gpu) < all.size() ? &all[static_cast<size_t>(gpu)] : nullptr;
}

/// Returns the result of ask, or a default if the process cannot ask.
template <class Ask>
int guarded(int otherwise, Ask&& ask) noexcept {
  try {
    return ask();
  } catch (...) {
    return otherwise;
  }
}

int describe(const GpuInfo& gpu, jitc_gpu* out) {
  *out = {};
  std::snprintf(out->name, sizeof out->name, "%s", gpu.name.c_str());
  std::snprintf(out->uuid, sizeof out->uuid, "%s", gpu.uuid.c_str());
  out->memory_total = gpu.memory_total;
  out->capability_major = static_cast<int>(gpu.capability_major);
  out->capability_minor = static_cast<int>(gpu.capability_minor);
  out->clock_khz = attribute_of(kClockRate, gpu);
  out->pci_domain = attribute_of(kPciDomain, gpu);
  out->pci_bus = attribute_of(kPciBus, gpu);
  out->pci_device = attribute_of(kPciDevice, gpu);
  return 0;
}

int memory(const GpuInfo& gpu, uint64_t* free, uint64_t* total) {
  uint32_t why = 0;
  Session* const session = Node::instance().session(gpu.index, false, &why);
  if (!session) return 1;
  const session::Result result = session->call(ops::MemoryInfo{});
  std::array<uint64_t, 2> numbers;
  if (result.status || !unpack(result.payload, &numbers)) return 1;
  *free = numbers[0];
  *total = numbers[1];
  return 0;
}

}  // namespace
}  // namespace jitc::api

using namespace jitc::api;

extern "C" {

int jitc_gpu_count(void) {
  return guarded(0, [] { return forked() ? 0 : static_cast<int>(Node::instance().gpus().size()); });
}

int jitc_gpu_describe(int gpu, jitc_gpu* out) {
  return guarded(1, [&] {
    const GpuInfo* found = gpu_of_service(gpu);
    return found && out ? describe(*found, out) : 1;
  });
}

int jitc_gpu_memory(int gpu, uint64_t* free, uint64_t* total) {
  return guarded(1, [&] {
    const GpuInfo* found = gpu_of_service(gpu);
    return found && free && total ? memory(*found, free, total) : 1;
  });
}
}

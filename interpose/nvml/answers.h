// Basis of nvml.cpp and processes.cpp: NVML's return values, and queries to the interposer.
#pragma once
#include "jitc/gpu_questions.h"

#define NVML extern "C" __attribute__((visibility("default")))

namespace jitc::nvml {

/// nvmlReturn_t.
enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kUnknown = 999,
};

struct Memory {
  unsigned long long total, free, used;
};

/// Returns the number of the GPU; a device handle is that number plus one.
int number_of(const void* device);
void* handle_of(int number);

/// Finds the description of a device, once NVML is initialized.
int find(const void* device, jitc_gpu* out);
/// Finds the first device that `wanted` accepts.
template <class Wanted>
int find_where(void** device, Wanted&& wanted) {
  jitc_gpu gpu{};
  int status = kSuccess;
  for (int i = 0; !(status = find(handle_of(i), &gpu)); ++i)
    if (wanted(gpu)) {
      *device = handle_of(i);
      return kSuccess;
    }
  return status == kUninitialized ? status : kNotFound;
}
/// Returns the device's memory; kNotSupported: this process does not use the device.
int memory_of(const void* device, Memory* out);

}  // namespace jitc::nvml

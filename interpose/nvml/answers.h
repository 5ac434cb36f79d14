// What nvml.cpp and processes.cpp stand on: NVML's return values, and the interposer that is asked.
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

/// A device handle is the GPU's number and one.
int number_of(const void* device);
void* handle_of(int number);

/// The description of a device, once NVML is initialized.
int find(const void* device, jitc_gpu* out);
/// The first device that wanted says yes to.
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
/// kNotSupported: this process does not use the device.
int memory_of(const void* device, Memory* out);

}  // namespace jitc::nvml

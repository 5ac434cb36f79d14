// The fake driver as the fakes of NVIDIA's other libraries use it: found in the process by the path in
// JITC_FAKE_CUDA, else by the name libcuda.so.1. Their work runs on its streams as host functions.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jitc::fakes {

struct DriverCalls {
  int (*get_current)(void** context);
  int (*set_current)(void* context);
  int (*get_device)(int* device);
  int (*bus_id)(char* text, int size, int device);
  int (*launch_host)(void* stream, void (*function)(void*), void* data);
  int (*is_capturing)(void* stream, int* status);
  int (*synchronize)(void* stream);
  int (*retain_memory)(unsigned long long* handle, void* address);
  int (*export_memory)(void* out, unsigned long long handle, int type, unsigned long long flags);
  int (*release_memory)(unsigned long long handle);
  /// Where the content of a device address lies, for work on streams; null: not accessible.
  void* (*memory)(unsigned long long address, size_t size);
  /// The graph of a stream that is captured keeps data, and calls release when it and its executables are
  /// gone.
  int (*retain)(void* stream, void (*release)(void*), void* data);
  /// For host functions: the context has this error when they return.
  void (*fault)(int code);
};

/// Null: there is no driver in the process.
const DriverCalls* driver_calls();

}  // namespace jitc::fakes

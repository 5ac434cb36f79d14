/* Kernels that the program compiles for a device that runs no GPU kernels: functions of shared
 * libraries. Operator calls name them by their handle ("jitc::host_kernel").
 *
 * Called by: client_shim (inductor/host_kernels). */
#pragma once
#include "jitc/client_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the library, which need not stay there, and returns a handle of its kernel of that name. Sends no
 * request to a worker. */
JITC_API int jitc_host_kernel_open(const char* path, const char* name, uint64_t* kernel);
/* Finds the kernel's number on the device, for operator calls. The first call sends the library to the worker
 * and waits for it. Returns a cudaError_t. */
JITC_API int jitc_host_kernel_on(uint64_t kernel, int device, uint64_t* function);

#ifdef __cplusplus
}
#endif

/* Server of kernels that a program launches past its operators, on a device that runs no kernels.
 *
 * Called by: client_shim (special/kernels). */
#pragma once
#include "jitc/client_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Function called with the kernel's name, as the compiler wrote it, device, stream, and the launch's
 * arguments. Returns a cudaError_t; 801 (cudaErrorNotSupported): unknown kernel. */
typedef int (*jitc_kernel_server)(const char* name, int device, void* stream, void** arguments);
JITC_API void jitc_set_kernel_server(jitc_kernel_server serve);

#ifdef __cplusplus
}
#endif

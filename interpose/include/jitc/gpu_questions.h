/* Queries of a process about the service's GPUs without using them; libjitc_interpose.so answers.
 *
 * Called by: client_shim (torch.cuda.device_count), interpose/nvml (NVML's queries). Promise: none of these
 * opens a session. */
#pragma once
#include <stdint.h>

#include "jitc/client_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of GPUs that the program sees; until it uses CUDA, it may still change
 * CUDA_VISIBLE_DEVICES after this. -1: the service is unreachable, or has none. */
JITC_API int jitc_device_count(void);

/* GPU of the service. All are described: CUDA_VISIBLE_DEVICES does not limit them, as with NVML. */
typedef struct jitc_gpu {
  char name[96];
  char uuid[33]; /* 32 hex digits */
  uint64_t memory_total;
  int capability_major, capability_minor, clock_khz;
  int pci_domain, pci_bus, pci_device;
} jitc_gpu;
JITC_API int jitc_gpu_count(void);
/* Returns 0, or 1: there is no such GPU. */
JITC_API int jitc_gpu_describe(int gpu, jitc_gpu* out);
/* Returns bytes, through the session of this process on the GPU. 1: it has none. */
JITC_API int jitc_gpu_memory(int gpu, uint64_t* free, uint64_t* total);

#ifdef __cplusplus
}
#endif

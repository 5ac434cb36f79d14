/* The entry of a kernel of the software device: the one function of a shared library that
 * client_shim/inductor/host_kernels.py makes out of the code that torch.compile generates.
 *
 * Called by: libjitc_operators.so, with the address that the software device has found. */
#pragma once
#include <stdint.h>

#define JITC_HOST_ENTRY "jitc_host_kernel"

/* Takes the address of each argument's memory (tensors) or value (numbers). Returns NULL, or an error, in the
 * calling thread's memory until its next call. Throws nothing. */
typedef const char* (*jitc_host_entry)(void* const* arguments, uint64_t count);

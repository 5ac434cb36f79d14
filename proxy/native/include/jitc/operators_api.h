/* libjitc_operators.so: PyTorch's CPU kernels for the software device. Linked against libtorch_cpu and
 * opened by the software back end with dlopen; everything else of the executor is free of torch. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "jitc/host_entry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jitc_operator_host {
  void* context;
  /* Returns the host pointer of [address, address + bytes), or NULL if that range is not allocated. */
  void* (*translate)(void* context, uint64_t address, uint64_t bytes);
  uint64_t memory_limit; /* bytes that an operator may hold besides; 0: no limit */
  /* Returns the kernel of that virtual handle, or NULL. May be NULL itself: there are none. */
  jitc_host_entry (*kernel)(void* context, uint64_t function);
} jitc_operator_host;

typedef struct jitc_operator_reply {
  uint8_t* data; /* result or error message; owned by the library, valid until the thread's next call */
  size_t size;
} jitc_operator_reply;

/* A tensor on the device that a call reads or writes; sizes and strides in elements of so many bytes. */
typedef struct jitc_tensor_access {
  uint64_t address, item;
  uint32_t dimensions;
  const int64_t *sizes, *strides;
  int written;
} jitc_tensor_access;

typedef struct jitc_operators {
  uint32_t version; /* 5 */
  void (*set_threads)(int threads);
  /* Run operator_call / operator_query payloads. 0: done; 1: the operator raised (reply = message);
   * 2: malformed call or bad address (reply = message); 3: the operator raised because of the numbers in its
   * operands, where a GPU's kernel would assert (reply = message). Never throws, never touches memory it was
   * not given. */
  int (*call)(const jitc_operator_host*, const uint8_t* call, size_t size, jitc_operator_reply*);
  int (*query)(const jitc_operator_host*, const uint8_t* call, size_t size, jitc_operator_reply*);
  /* Runs a matmul op by its operands (struct jitc::ops::Matmul, header included). Same return values. */
  int (*matmul)(const jitc_operator_host*, const void* op, size_t size, jitc_operator_reply*);
  /* Makes all calls from now on sum in another order each time; 0: never. */
  void (*set_noise)(uint64_t seed);
  /* Lists the tensors that a call, or a query of it, touches, without running it; those read come first.
   * 0: all were taken; 2: a malformed call. */
  int (*accesses)(const uint8_t* call, size_t size, int query, void* context,
                  void (*take)(void* context, const jitc_tensor_access*));
} jitc_operators;

__attribute__((visibility("default"))) const jitc_operators* jitc_operators_get(void);
#ifdef __cplusplus
}
#endif

/* C interface of libjitc_interpose.so for client_shim and for programs without PyTorch.
 * Everything is thread-safe; no function throws. Streams are cudaStream_t values as the program
 * has them (our virtual handles). Status values are cudaError_t, or 0x10001 (operator error). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "jitc/element_type.h"

#ifdef __cplusplus
extern "C" {
#endif
#define JITC_API __attribute__((visibility("default")))

/* 0: no service or no GPU; 1: software device; 2: cuda. Asks the service once, cheap afterwards. */
JITC_API int jitc_device_kind(void);
/* Whether cuDNN is served on a device of the program: 1, or 0 (the service has no libcudnn; the software
 * device; no service, no such device). Asks the service once too; neither opens a session. */
JITC_API int jitc_serves_cudnn(int device);

/* One block of device memory that is live at a boundary. */
typedef struct jitc_live_block {
  uint64_t address, bytes, ordinal;
} jitc_live_block;

/* client_shim is loaded: it will announce PyTorch's optimizer steps. A program with PyTorch and without it is
 * told so when it first uses a GPU. */
JITC_API void jitc_expect_steps(void);

/* Pre hook / post hook of an optimizer step, on every GPU on which this process has a session.
 * blocks are what is live in followed memory (jitc_follow_memory); all other memory is live as a whole,
 * whatever they say. blocks of all devices may be mixed: each address belongs to one session. Until the call
 * returns no other thread may use followed memory that is not among them, or free what is. blocks == NULL:
 * there is no list, everything allocated is live; a list of none (count 0) is a list. Steps are numbered per
 * process, so ranks that share a communicator must make the same ones. Without a session both return at once.
 */
JITC_API void jitc_step_begin(void);
/* The same with the blocks that are live now: what no other rank has of them can then survive a fault
 * inside the step. */
JITC_API void jitc_step_begin_live(const jitc_live_block* blocks, size_t count);
JITC_API void jitc_step_end(const jitc_live_block* blocks, size_t count);

/* Whoever names live blocks says with this of which memory it speaks: from now on (followed), or no longer.
 * It concerns the allocations that lie wholly in the range, until they are freed. What nobody follows is
 * kept whole at each boundary, so that a list is never taken for more than its maker knows. */
JITC_API void jitc_follow_memory(uint64_t address, size_t bytes, int followed);

/* Memory that a cuBLAS handle has as its workspace from now on (set), or no longer. What lies there between
 * two calls is nothing that a program relies on, so it need not be among the live blocks. */
typedef void (*jitc_workspace_listener)(uint64_t address, size_t bytes, int set);
JITC_API void jitc_set_workspace_listener(jitc_workspace_listener listener);

/* A backward pass begins, in whichever threads. After very many without a step the program is told, once,
 * that it has no boundary since. */
JITC_API void jitc_backward_begins(void);

/* Phase (0 forward, 1 backward, 2 optimizer) put on ops that the calling thread submits from now on. */
JITC_API void jitc_set_phase(int phase);
/* The same for a caller that sees no operators: source is asked for the calling thread's phase at every op,
 * and must be as cheap as reading a variable. It replaces jitc_set_phase; NULL takes it away. */
typedef int (*jitc_phase_source)(void);
JITC_API void jitc_set_phase_source(jitc_phase_source source);

/* The type of what the calling thread copies to the host from now on (element_type.h); the default is
 * unknown. */
JITC_API void jitc_set_element_type(enum jitc_element_type type);

/* Whether the service checks the order of ops (--check-order): 1 or 0. Asks the service once. */
JITC_API int jitc_checks_order(void);
/* Then source is asked for the calling thread's place in the program at each op: PyTorch's operator, a line
 * feed, lines for a report. The text must stay where it is for good; NULL: unknown. It is called with locks
 * held: no waiting. */
typedef const char* (*jitc_site_source)(void);
JITC_API void jitc_set_site_source(jitc_site_source source);
/* The calling thread would have waited for the stream here if the GPU were a real one. */
JITC_API void jitc_note_wait(int device, void* stream);

typedef struct jitc_reply {
  uint8_t* data; /* freed by jitc_reply_free */
  size_t size;
  uint32_t status;
} jitc_reply;
/* Asynchronous operator_call on a stream of device; the bytes are copied. */
JITC_API int jitc_operator_call(int device, void* stream, const void* call, size_t size);
/* Synchronous operator_query; with status 0x10001 data is the operator's error message. A captured stream
 * refuses it (900). */
JITC_API int jitc_operator_query(int device, void* stream, const void* call, size_t size, jitc_reply* reply);
JITC_API void jitc_reply_free(jitc_reply* reply);

/* Of NVIDIA's libraries that are not served the one that was refused last: 1, its title and what helps
 * instead, which stay for good; 0: none was. PyTorch's own errors of them say neither. */
JITC_API int jitc_refused_library(const char** title, const char** instead);

/* Last error text of this thread, for messages; never NULL. */
JITC_API const char* jitc_last_message(void);
#ifdef __cplusplus
}
#endif

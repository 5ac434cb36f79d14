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

/* Returns 0: no service or no GPU; 1: software device; 2: cuda. Asks the service once, cheap afterwards. */
JITC_API int jitc_device_kind(void);
/* Returns whether cuDNN is served on a device of the program: 1, or 0 (no libcudnn at the service; software
 * device; no service, no such device). Asks the service once too; neither opens a session. */
JITC_API int jitc_serves_cudnn(int device);

/* Block of device memory that is live at a boundary. */
typedef struct jitc_live_block {
  uint64_t address, bytes, ordinal;
} jitc_live_block;

/* Notes that client_shim is loaded and will announce PyTorch's optimizer steps. A program with PyTorch and
 * without it gets a message when it first uses a GPU. */
JITC_API void jitc_expect_steps(void);

/* Begin and end an optimizer step, as its pre hook and post hook, on every GPU on which this process has a
 * session. blocks lists the live blocks of followed memory (jitc_follow_memory); all other memory is always
 * live as a whole. blocks of all devices may be mixed: each address belongs to one session. Until the call
 * returns no other thread may use followed memory that is not listed, or free listed memory. blocks == NULL:
 * there is no list, everything allocated is live; an empty list (count 0) is a list. Steps are numbered per
 * process, so ranks that share a communicator must make the same ones. Without a session both return at once.
 */
JITC_API void jitc_step_begin(void);
/* Begins a step with the blocks that are live now: those that no other rank has can then survive a fault
 * inside the step. */
JITC_API void jitc_step_begin_live(const jitc_live_block* blocks, size_t count);
JITC_API void jitc_step_end(const jitc_live_block* blocks, size_t count);

/* Declares for which memory the caller lists live blocks: from now on (followed), or no longer. This applies
 * to the allocations that lie wholly in the range, until they are freed. Memory that is not followed is kept
 * whole at each boundary, so that a list never covers more than its maker knows. */
JITC_API void jitc_follow_memory(uint64_t address, size_t bytes, int followed);

/* Listener for memory that becomes a cuBLAS handle's workspace (set), or ceases to be. A program does not
 * rely on its content between two calls, so it need not be among the live blocks. */
typedef void (*jitc_workspace_listener)(uint64_t address, size_t bytes, int set);
JITC_API void jitc_set_workspace_listener(jitc_workspace_listener listener);

/* Notes that a backward pass begins, in any threads. After very many without a step a message says, once,
 * that there has been no boundary since. */
JITC_API void jitc_backward_begins(void);

/* Sets the phase (0 forward, 1 backward, 2 optimizer) of the calling thread's ops from now on. */
JITC_API void jitc_set_phase(int phase);
/* Sets a function for a caller that sees no operators: it returns the calling thread's phase at every op, and
 * must be as cheap as reading a variable. It replaces jitc_set_phase; NULL removes it. */
typedef int (*jitc_phase_source)(void);
JITC_API void jitc_set_phase_source(jitc_phase_source source);

/* Sets the type of the calling thread's copies to the host from now on (element_type.h); the default is
 * unknown. */
JITC_API void jitc_set_element_type(enum jitc_element_type type);

/* Returns whether the service checks the order of ops (--check-order): 1 or 0. Asks the service once. */
JITC_API int jitc_checks_order(void);
/* Sets the source of the calling thread's call site, for such a service: called at each op, it returns
 * PyTorch's operator, a line feed, lines for a report. The text must stay in place for good; NULL: unknown.
 * It is called with locks held and must not wait. */
typedef const char* (*jitc_site_source)(void);
JITC_API void jitc_set_site_source(jitc_site_source source);
/* Notes that the calling thread would have waited for the stream here if the GPU were a real one. */
JITC_API void jitc_note_wait(int device, void* stream);

typedef struct jitc_reply {
  uint8_t* data; /* freed by jitc_reply_free */
  size_t size;
  uint32_t status;
} jitc_reply;
/* Submits an operator_call on a stream of device, without waiting; the bytes are copied. */
JITC_API int jitc_operator_call(int device, void* stream, const void* call, size_t size);
/* Runs an operator_query and waits; with status 0x10001 data is the operator's error message. A captured
 * stream refuses it (900). */
JITC_API int jitc_operator_query(int device, void* stream, const void* call, size_t size, jitc_reply* reply);
JITC_API void jitc_reply_free(jitc_reply* reply);

/* Returns 1 with the title of the unserved library of NVIDIA that was refused last, and advice, both valid
 * for good; 0: none was refused. PyTorch's own errors contain neither. */
JITC_API int jitc_refused_library(const char** title, const char** instead);

/* Returns the last error text of this thread, for messages; never NULL. */
JITC_API const char* jitc_last_message(void);
#ifdef __cplusplus
}
#endif

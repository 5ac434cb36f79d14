/* C interface of libjitc_executor.so, used by the worker's Python control plane through ctypes (so it
 * does not depend on the Python version; ctypes releases the GIL around every call).
 * Functions that fail return a negative value and leave a text for jitc_executor_message().
 * Documents are JSON; their keys are those of protos/jitc/v1/worker.proto. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#define JITC_API __attribute__((visibility("default")))

typedef struct jitc_executor jitc_executor; /* one per worker process */

/* The answer to a join. */
typedef struct jitc_join {
  char text[4096]; /* refused: the reason, for the program (NUL-terminated) */
  uint64_t segment_bytes;
  uint64_t identity;  /* with which the segment begins */
  uint32_t status;    /* refused: cudaError_t */
  int32_t descriptor; /* of the segment, owned by the executor; -1: it has been given up meanwhile */
} jitc_join;
enum {
  JITC_JOINED = 0,
  JITC_JOIN_SUPERSEDED = 1, /* the session is at another epoch by now, or about to end */
  JITC_JOIN_REFUSED = -1
};

/* The executor's calls to the control plane. Called from executor threads (ctypes takes the GIL);
 * join may block on a round trip to the node service. */
typedef struct jitc_control {
  /* Requests the communicator segment of this epoch; returns one of the values above. */
  int (*join)(uint64_t session, const uint8_t unique_id[128], uint32_t ranks, uint32_t rank, uint64_t epoch,
              jitc_join* answer);
  /* Reports that the session cannot continue; it is stopped and waits for Fence. */
  void (*fault)(uint64_t session, uint64_t sequence, uint32_t status, const char* cause, const char* message);
  /* Reports that an armed fault fired; number is its own (Fault in control.proto). */
  void (*fault_fired)(uint64_t number, const char* detail);
  /* Reports two ops of a session with no order between them: RaceReport in control.proto as JSON. */
  void (*race)(const char* report_json);
} jitc_control;

/* options: {"device": "software" or "cuda", "gpu": index, "memory_limit": bytes or 0 for all of it,
 * "threads": n, "ordinal": n, "images": path, "options": {name: text}, "libraries": {name: path}}. The
 * options are those of WorkerOptions (jitc/generated_options.h). A device opens what it needs of the
 * libraries: "operators" (libjitc_operators.so) the software device; "driver", "nccl", "cublas", "cublaslt",
 * "nvrtc", "cudnn" the cuda device. A library that is not named is not available.
 */
JITC_API jitc_executor* jitc_executor_create(const char* options_json, const jitc_control* control);
JITC_API void jitc_executor_destroy(jitc_executor*);
JITC_API const char* jitc_executor_message(void); /* of this thread */

/* Opens a session by OpenSessionRequest as JSON (bytes fields in hex). */
JITC_API int jitc_session_open(jitc_executor*, const char* request_json);
JITC_API int jitc_session_close(jitc_executor*, uint64_t session);

/* The client's stream. attach: forgets results up to results_received, queues the ACK and the results
 * that are still owed; -1 if another stream is attached. submit: one OpBatch message (protobuf bytes);
 * journals it, then returns; blocks while the journal is full (back-pressure); -1 if malformed: nothing
 * of the batch was taken, the stream must be closed with the message. poll: one CompletionBatch message
 * into out, waits up to timeout_ms; 0 if nothing came, -2 if detached. */
JITC_API int64_t jitc_session_attach(jitc_executor*, uint64_t session, uint64_t results_received);
JITC_API int jitc_session_submit(jitc_executor*, uint64_t session, const uint8_t* batch, size_t size);
JITC_API int64_t jitc_session_poll(jitc_executor*, uint64_t session, uint8_t* out, size_t capacity,
                                   int timeout_ms);
JITC_API int jitc_session_detach(jitc_executor*, uint64_t session);

/* Runs a command of recovery or policy: method is the rpc's name in worker.proto ("Fence", "Rollback",
 * "FinishStep", "SkipStep", "Export", "Import", "Send", "Receive", "Resume", "Abandon", "BoundaryTable",
 * "SetPolicy", "SetSpacing", "Validate", "Hold", "Tell", "Arm", "Stats"); request and reply are JSON. The
 * reply is freed with jitc_executor_release. */
JITC_API int jitc_executor_command(jitc_executor*, const char* method, const char* request_json,
                                   char** reply_json);
JITC_API void jitc_executor_release(char*);

/* Shared structures, for the process that makes their memory. A slot of the board is cleared by its session's
 * worker when the session is closed; by the service, if that worker is dead. Until then it has the GPU
 * memory that the session holds, or that its recovery needs: sessions with the same "gpu" share the limit
 * through it. */
JITC_API uint64_t jitc_board_bytes(void);
JITC_API int jitc_board_clear(const char* path, uint32_t slot);
/* Mirror slots, of sessions on other nodes (bridge_api.h has the order of calls). enter: the slot belongs to
 * the session, in the communicators with these unique ids (128 bytes each); all else is 0. If it is that
 * session's already, only communicators are added. begin: at a fence, sets epoch and counters (prepared,
 * reached, begun, unskippable), exactly. leave: frees the slot. */
JITC_API int jitc_board_enter(const char* path, uint32_t slot, uint64_t session, uint64_t epoch,
                              const uint8_t* unique_ids, size_t count);
JITC_API int jitc_board_begin(const char* path, uint32_t slot, uint64_t epoch, const uint64_t counters[4]);
JITC_API int jitc_board_leave(const char* path, uint32_t slot);
JITC_API uint64_t jitc_segment_bytes(uint32_t ranks);
/* Sets the identity of the segment, before any rank joins. */
JITC_API int jitc_segment_mark(const char* path, uint64_t identity);
/* Marks the rank as inactive in the segment: ranks that wait for it give up, with the text. */
JITC_API int jitc_segment_absent(const char* path, uint32_t rank, const char* why);
/* Marks the ranks of other nodes as out of reach: collectives with them fail, with the text. */
JITC_API int jitc_segment_cut(const char* path, const char* why);
/* Counts how often each of so many ranks has released the segment, modulo 65,536. */
JITC_API int jitc_segment_left(const char* path, uint32_t ranks, uint16_t* counts);
#ifdef __cplusplus
}
#endif

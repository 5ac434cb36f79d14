/* libjitc_transport.so: gRPC over a unix socket for the training process (decision: libnghttp2).
 * Opened with dlopen(RTLD_LOCAL) at the first CUDA call that needs the service; only the one symbol
 * jitc_transport_get is visible. No thread before the first connection, no global constructor.
 * All functions are thread-safe unless said otherwise; after fork the child must not call any. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jitc_stream jitc_stream; /* one bidirectional call on a channel of its own */

typedef struct jitc_metadata {
  const char* key;
  const char* value;
} jitc_metadata;
typedef struct jitc_bytes {
  uint8_t* data;
  size_t size;
} jitc_bytes; /* freed with api->release */

typedef struct jitc_stream_callbacks {
  void* context;
  /* Takes one whole gRPC message; called by the thread that drives the I/O; must not block. */
  void (*message)(void* context, const uint8_t* data, size_t size);
  /* Reports the end of the call (once): gRPC status (0 OK, 14 UNAVAILABLE: the peer died) and its message. */
  void (*closed)(void* context, int grpc_status, const char* message);
  /* Gives the next message to send, in at most capacity parts; returns their number, 0 if there is none.
   * May be NULL. Called under the I/O lock by the thread that drives the I/O; the bytes must stay as they are
   * until its next call. So everything that has gathered since the last call goes out as one message. */
  size_t (*next)(void* context, jitc_bytes* parts, size_t capacity);
  /* While a thread waits: a PING goes out after this much silence, and the call ends as UNAVAILABLE if
   * nothing at all arrived for dead_after_ms. 0: 10 s and 60 s. An idle stream sends none. */
  uint32_t ping_after_ms, dead_after_ms;
} jitc_stream_callbacks;

typedef struct jitc_transport_api {
  uint32_t version; /* 1 */
  /* Makes a unary call, blocking. Returns the gRPC status, or -errno if it cannot connect; reply or error
   * text in *out. */
  int (*unary)(const char* socket_path, const char* method, const void* request, size_t size, int timeout_ms,
               jitc_bytes* out);
  /* Opens a call such as "/jitc.v1.Session/Ops". Returns NULL and an error text if it cannot connect. */
  jitc_stream* (*open)(const char* socket_path, const char* method, const jitc_metadata* metadata,
                       size_t count, const jitc_stream_callbacks* callbacks, jitc_bytes* error);
  /* Queues one message (copied: parts are concatenated). Blocks while more than the window is queued
   * (back-pressure); returns 0, or the gRPC status once closed. */
  int (*send)(jitc_stream*, const jitc_bytes* parts, size_t count);
  /* For callbacks.next. Returns whether the stream sleeps until wake is called (one atomic load; to be called
   * after, or in, the critical section in which the message became available). wake wakes it. */
  int (*asleep)(const jitc_stream*);
  void (*wake)(jitc_stream*);
  /* Drives the I/O in the calling thread until done(context) is true, the stream closes or the time
   * is over (timeout_ms < 0: none). Several threads may wait at once: one drives, the others sleep and are
   * woken when a message arrives. timeout_ms 0: one turn without waiting. Returns 1 done, 0 time over, -1
   * closed. */
  int (*wait)(jitc_stream*, int (*done)(void*), void* context, int timeout_ms);
  /* Cancels, joins, frees. Not from a callback, and not while another thread is in a call on the stream. */
  void (*close)(jitc_stream*);
  void (*release)(jitc_bytes*);
} jitc_transport_api;

const jitc_transport_api* jitc_transport_get(void); /* the visible symbol */
#ifdef __cplusplus
}
#endif

/* The other half of libjitc_transport.so: a gRPC server for one streaming method on a unix socket, for a
 * worker.
 *
 * Opened with dlopen; the symbol is jitc_transport_server_get. Each connection has one thread and one call at
 * a time (a client with more of them opens another connection). Messages come in that thread; they go out in
 * the thread that announces them (wake), so that an answer needs no hop between threads. Promises:
 * closed is the last callback of a call, and comes once; a peer that breaks the protocol ends its connection,
 * never the process; PINGs are answered and results go out also while the callee takes no messages (pause). A
 * connection without a call that begin has accepted ends after hello_ms, and the oldest of them when there
 * are many; one with a call has no time limit.
 */
#pragma once
#include "jitc/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jitc_server jitc_server;
/* One call of a client. The functions may be called from any thread until release, also when the call is
 * over. */
typedef struct jitc_call jitc_call;

/* gRPC statuses of endings. */
enum {
  JITC_STATUS_INVALID_ARGUMENT = 3,
  JITC_STATUS_NOT_FOUND = 5,
  JITC_STATUS_ALREADY_EXISTS = 6,
  JITC_STATUS_FAILED_PRECONDITION = 9
};
/* The end of a call: its status, and a text. */
typedef struct jitc_ending {
  int status;
  char text[1024];
} jitc_ending;

#define JITC_CALL_ENDS ((size_t)-1)

typedef struct jitc_server_callbacks {
  void* context;
  /* Begins a client's call, in the connection's thread; may block for a while. Returns the context of the
   * other callbacks; NULL: refused, see *ending. The callee owns call from here on, also of a call that it
   * refuses. */
  void* (*begin)(void* context, jitc_call* call, const jitc_metadata* metadata, size_t count,
                 jitc_ending* ending);
  /* Takes one whole message, in the connection's thread. Must not block for long. 0: the call ends, see
   * *ending. */
  int (*message)(void* user, const uint8_t* data, size_t size, jitc_ending* ending);
  /* Gives the next message to send, in at most capacity parts; returns their number, 0 if there is none,
   * JITC_CALL_ENDS if there will be none: the call ends well. Called under the connection's lock; the bytes
   * must stay as they are until its next call, or closed. */
  size_t (*next)(void* user, jitc_bytes* parts, size_t capacity);
  /* Reports the end of the call: next, message and this are not called any more. */
  void (*closed)(void* user);
  /* Longest time of a connection without a call, in milliseconds; 0: the time in server.h. */
  uint32_t hello_ms;
} jitc_server_callbacks;

typedef struct jitc_transport_server_api {
  uint32_t version; /* 2 */
  /* Listens and serves. Returns NULL and an error text if it cannot. The socket is for this user only. */
  jitc_server* (*start)(const char* socket_path, const char* method, const jitc_server_callbacks* callbacks,
                        jitc_bytes* error);
  /* Ends all calls and connections, joins their threads, removes the socket. Not from a callback. */
  void (*stop)(jitc_server*);
  /* Sends what is ready in this thread, unless another one is sending, which then sends it, too. Calls next:
   * the caller must not hold a lock that next takes. */
  void (*wake)(jitc_call*);
  /* Sends from the connection's thread, after that time at most; takes no lock. */
  void (*wake_after)(jitc_call*, uint64_t nanoseconds);
  /* Stops (non-zero) acknowledging bytes of messages, so that the client stops sending when its window is
   * full. */
  void (*pause)(jitc_call*, int paused);
  /* Ends the call once next has nothing more. */
  void (*finish)(jitc_call*, const jitc_ending*);
  void (*release)(jitc_call*);
  void (*release_bytes)(jitc_bytes*);
} jitc_transport_server_api;

const jitc_transport_server_api* jitc_transport_server_get(void); /* a visible symbol */
#ifdef __cplusplus
}
#endif

// Waits and findings of the program without a request to the worker, reported to a service that checks the
// order of ops (session/order_check.h).
//
// Promise: without such a service nothing is done. Called by: the functions that wait, query and copy.
#pragma once
#include "session/order_check.h"
#include "session/session.h"

namespace jitc::api {

/// Reports that the program has waited for the stream up to that op; 0: for all streams.
inline void tell_waited(session::Session& session, uint64_t stream, uint64_t sequence) {
  if (!session::order_check::is_wanted()) return;
  ops::OrderKnown op;
  op.header.stream = op.stream = stream;
  op.until = sequence;
  session.submit(op);
}

/// Reports that the program has waited for all its work on the stream.
inline void tell_waited(session::Session& session, uint64_t stream) {
  if (const uint64_t last = session.last_submitted(stream)) tell_waited(session, stream, last);
}

/// Notes that a query was answered with yes.
inline void note_done(const session::Session& session, uint64_t stream, uint64_t sequence) {
  if (session::order_check::is_wanted() && sequence)
    session::order_check::found_done({&session, stream, sequence});
}

/// Reports that the next wait for the stream is not the program's own.
inline void tell_unasked(session::Session& session, uint64_t stream) {
  if (!session::order_check::is_wanted()) return;
  ops::OrderUnasked op;
  op.header.stream = stream;
  session.submit(op);
}

/// Reports that the next copy on the stream reads, or writes, pinned memory.
inline void tell_host_memory(session::Session& session, uint64_t stream, uint64_t address, uint64_t bytes,
                             bool written) {
  ops::OrderHost op;
  op.header.stream = stream;
  op.address = address;
  op.bytes = bytes;
  op.written = written;
  session.submit(op);
}

}  // namespace jitc::api

/* C interface of libjitc_boundaries.so: the boundaries of a session, read from its files without a worker.
 *
 * Opens the journal and the copies of a session for reading only, while any process holds them (the keeper,
 * after a worker, a service or a program has died), and also while a worker continues to write. Nothing of
 * CUDA or of the executor is loaded. Called by: jitc.proxy.common.boundaries.
 *
 * Functions that fail return NULL or a negative value and leave a text for jitc_boundaries_message(). A
 * handle shows what the files held when it was opened; calls with one handle come one at a time. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifndef JITC_API
#define JITC_API __attribute__((visibility("default")))
#endif

typedef struct jitc_boundaries jitc_boundaries;

/* The files of a session's state, with the sizes that it was made with. */
typedef struct jitc_boundary_files {
  const char* journal;
  uint64_t journal_bytes;
  const char* spill; /* NULL: there is none */
  uint64_t spill_bytes;
  const char* copies;
  uint64_t copies_bytes;
} jitc_boundary_files;

/* A boundary that can be restored. */
typedef struct jitc_boundary {
  uint64_t number;
  uint64_t sequence; /* of the newest op whose effects are in it */
  uint64_t rows;
  uint64_t bytes;        /* of all rows */
  uint64_t copied_bytes; /* of those that have a copy */
  uint32_t whole;        /* 1: every row has one; otherwise the rest is with data-parallel peers */
  uint32_t of_worker;    /* 1: made between two ops, for a rank that makes no optimizer steps */
} jitc_boundary;

/* A block of device memory at a boundary. */
typedef struct jitc_boundary_row {
  uint64_t
      ordinal; /* place in the program's list of live blocks; of a device variable: with the highest bit */
  uint64_t address;
  uint64_t bytes;
  uint8_t hash[16]; /* content hash (docs/journal.md) */
  uint32_t copied;
  uint32_t padding;
} jitc_boundary_row;

JITC_API jitc_boundaries* jitc_boundaries_open(const jitc_boundary_files* files);
JITC_API void jitc_boundaries_close(jitc_boundaries*);
JITC_API const char* jitc_boundaries_message(void); /* of this thread */

/* Lists boundaries, oldest first. Returns their number; writes as many as there is room for. */
JITC_API int64_t jitc_boundaries_list(const jitc_boundaries*, jitc_boundary* out, size_t room);
/* Lists the rows of a boundary, in the order of their ordinals; as above. -1: it does not exist. */
JITC_API int64_t jitc_boundaries_rows(const jitc_boundaries*, uint64_t boundary, jitc_boundary_row* out,
                                      size_t room);
/* Reads the content of a row (an index) from its copy, checked by its hash: all `bytes`. -1: it has no copy;
 * the boundary was given up meanwhile; or the copy is damaged. */
JITC_API int jitc_boundaries_read(const jitc_boundaries*, uint64_t boundary, uint64_t row, void* out,
                                  uint64_t bytes);
#ifdef __cplusplus
}
#endif

// The C interface over BoundaryFiles: no exception leaves it. See jitc/boundary_api.h.
#include "jitc/boundary_api.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "base/error.h"
#include "boundary_files.h"

struct jitc_boundaries {
  jitc::BoundaryFiles files;
};

namespace {
using jitc::BoundaryState;
using jitc::LiveRow;

std::string& message() {
  thread_local std::string text;
  return text;
}

template <class Result, class Call>
Result guarded_call(Result failed, Call call) noexcept {
  try {
    return call();
  } catch (const std::exception& error) {
    try {
      message() = error.what();
    } catch (...) {  // no memory for a text
    }
    return failed;
  }
}

jitc::RecordLog::Place place(const char* path, uint64_t bytes) { return {path ? path : "", bytes}; }

jitc_boundary described(const BoundaryState& state) {
  jitc_boundary one{state.number, state.sequence, state.rows.size(), 0, 0, state.whole(), state.between != 0};
  for (const LiveRow& row : state.rows) {
    one.bytes += row.block.bytes;
    if (row.copied()) one.copied_bytes += row.block.bytes;
  }
  return one;
}

jitc_boundary_row described(const LiveRow& row) {
  jitc_boundary_row one{row.block.ordinal, row.block.address, row.block.bytes, {}, row.copied(), 0};
  std::ranges::copy(row.hash, one.hash);
  return one;
}

template <class List, class Out>
int64_t write_all(const List& list, Out* out, size_t room) {
  size_t written = 0;
  for (const auto& one : list) {
    if (written == room) break;
    out[written++] = described(one);
  }
  return static_cast<int64_t>(list.size());
}
}  // namespace

jitc_boundaries* jitc_boundaries_open(const jitc_boundary_files* files) {
  return guarded_call<jitc_boundaries*>(nullptr, [&] {
    return new jitc_boundaries{{place(files->journal, files->journal_bytes),
                                place(files->spill, files->spill_bytes),
                                place(files->copies, files->copies_bytes)}};
  });
}

void jitc_boundaries_close(jitc_boundaries* boundaries) { delete boundaries; }

const char* jitc_boundaries_message(void) { return message().c_str(); }

int64_t jitc_boundaries_list(const jitc_boundaries* boundaries, jitc_boundary* out, size_t room) {
  return guarded_call<int64_t>(-1, [&] { return write_all(boundaries->files.boundaries(), out, room); });
}

int64_t jitc_boundaries_rows(const jitc_boundaries* boundaries, uint64_t boundary, jitc_boundary_row* out,
                             size_t room) {
  return guarded_call<int64_t>(
      -1, [&] { return write_all(boundaries->files.boundary(boundary).rows, out, room); });
}

int jitc_boundaries_read(const jitc_boundaries* boundaries, uint64_t boundary, uint64_t row, void* out,
                         uint64_t bytes) {
  return guarded_call<int>(-1, [&] {
    const BoundaryState& state = boundaries->files.boundary(boundary);
    if (row >= state.rows.size())
      throw jitc::Error("boundary " + std::to_string(boundary) + " has " + std::to_string(state.rows.size()) +
                        " rows, so none with index " + std::to_string(row));
    boundaries->files.read(state, state.rows[row], {static_cast<std::byte*>(out), bytes});
    return 0;
  });
}

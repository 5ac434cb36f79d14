// The C interface (executor_api.h). No exception leaves it: a failure is a negative value and a text.
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "base/error.h"
#include "device/devices.h"
#include "executor.h"
#include "executor/state/communications.h"

struct jitc_executor {
  jitc::Executor executor;
};

namespace {
thread_local std::string message;

template <class Work>
auto guarded(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    message = "out of host memory";
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    message = "unknown failure";
  }
  return static_cast<decltype(work())>(-1);
}

template <class Work>
int done(Work work) {
  return guarded([&] { return work(), 0; });
}

uint32_t checked(uint32_t slot) {
  if (slot >= jitc::Board::kSlots) throw jitc::Error("the board has no slot " + std::to_string(slot));
  return slot;
}

std::span<const std::byte> bytes(const void* data, size_t size) {
  return {static_cast<const std::byte*>(data), size};
}
}  // namespace

extern "C" {

jitc_executor* jitc_executor_create(const char* options_json, const jitc_control* control) {
  jitc_executor* made = nullptr;
  done([&] {
    made = new jitc_executor{
        jitc::Executor(options_json ? options_json : "", control ? *control : jitc_control{})};
  });
  return made;
}

void jitc_executor_destroy(jitc_executor* executor) {
  done([&] { delete executor; });
}

const char* jitc_executor_message(void) { return message.c_str(); }

int jitc_session_open(jitc_executor* executor, const char* request_json) {
  return done([&] { executor->executor.open(request_json); });
}

int jitc_session_close(jitc_executor* executor, uint64_t session) {
  return done([&] { executor->executor.close(session); });
}

int64_t jitc_session_attach(jitc_executor* executor, uint64_t session, uint64_t results_received) {
  return guarded([&] {
    return static_cast<int64_t>(executor->executor.find(session)->client().attach(results_received));
  });
}

int jitc_session_submit(jitc_executor* executor, uint64_t session, const uint8_t* batch, size_t size) {
  return done([&] { executor->executor.find(session)->client().submit(bytes(batch, size)); });
}

int64_t jitc_session_poll(jitc_executor* executor, uint64_t session, uint8_t* out, size_t capacity,
                          int timeout_ms) {
  return guarded([&]() -> int64_t {
    const int64_t size = executor->executor.find(session)->client().poll(
        {reinterpret_cast<std::byte*>(out), capacity}, timeout_ms);
    if (size == -1) throw jitc::Error("the buffer is too small for the next completion");
    return size;
  });
}

int jitc_session_detach(jitc_executor* executor, uint64_t session) {
  return done([&] { executor->executor.find(session)->client().detach(); });
}

int jitc_executor_command(jitc_executor* executor, const char* method, const char* request_json,
                          char** reply_json) {
  return done([&] {
    *reply_json = nullptr;
    const std::string reply = executor->executor.command(method, request_json);
    *reply_json = strdup(reply.c_str());
    if (!*reply_json) throw std::bad_alloc();
  });
}

void jitc_executor_release(char* document) { std::free(document); }

uint64_t jitc_board_bytes(void) { return jitc::Board::kBytes; }

int jitc_board_clear(const char* path, uint32_t slot) {
  return done([&] { jitc::Board(path).clear(checked(slot)); });
}

int jitc_board_enter(const char* path, uint32_t slot, uint64_t session, uint64_t epoch,
                     const uint8_t* unique_ids, size_t count) {
  return done([&] {
    const jitc::Board board(path);
    std::vector<uint64_t> names(count);
    for (size_t i = 0; i < count; ++i) {
      std::array<uint8_t, 128> id;
      std::memcpy(id.data(), unique_ids + i * id.size(), id.size());
      names[i] = jitc::communicator_name(id);
    }
    if (session == 0) throw jitc::Error("a session has a number");
    if (!board.job.enter(checked(slot), session, epoch, names))
      throw jitc::Error("the board has no place for more communicators of session " +
                        std::to_string(session));
  });
}

int jitc_board_begin(const char* path, uint32_t slot, uint64_t epoch, const uint64_t counters[4]) {
  return done([&] {
    const jitc::JobCounters exactly{counters[0], counters[1], counters[2], counters[3], 0};
    jitc::Board(path).job.begin_epoch(checked(slot), epoch, exactly);
  });
}

int jitc_board_leave(const char* path, uint32_t slot) {
  return done([&] { jitc::Board(path).job.leave(checked(slot)); });
}

uint64_t jitc_segment_bytes(uint32_t ranks) { return jitc::segment_bytes(ranks); }

int jitc_segment_mark(const char* path, uint64_t identity) {
  return done([&] {
    std::string error;
    if (!jitc::mark_segment(path, identity, error)) throw jitc::Error(error);
  });
}

int jitc_segment_absent(const char* path, uint32_t rank, const char* why) {
  return done([&] {
    std::string error;
    if (!jitc::mark_absent(path, rank, why, error)) throw jitc::Error(error);
  });
}

int jitc_segment_cut(const char* path, const char* why) {
  return done([&] {
    std::string error;
    if (!jitc::mark_cut(path, why, error)) throw jitc::Error(error);
  });
}

int jitc_segment_left(const char* path, uint32_t ranks, uint16_t* counts) {
  return done([&] {
    std::string error;
    if (!jitc::ranks_left(path, ranks, counts, error)) throw jitc::Error(error);
  });
}

}  // extern "C"

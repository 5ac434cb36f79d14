// A libnccl.so.2 without communication, for tests of how communicators are made, used and given up: ranks are
// threads of one process, collectives are only written down.
//
// It watches what NCCL forbids: two threads inside one communicator, a call on a communicator that is not
// ready, any call after abort or destroy.
#include "../stub_nccl.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Id {
  char bytes[128];
};
struct Stream;
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

namespace {
enum { kSuccess = 0, kSystem = 2, kInvalidArgument = 4, kInvalidUsage = 5, kRemote = 6, kInProgress = 7 };

std::mutex mutex;
std::map<std::string, int> switches, counts;
std::string taken, log_lines;
int ids = 0;
std::map<std::string, int> arrived;  // communicators of an id
thread_local std::string group;
thread_local int depth = 0, first_bad = 0;

int on(const char* name) {
  const std::lock_guard lock(mutex);
  return switches[name];
}
void count(const char* name, int more = 1) {
  const std::lock_guard lock(mutex);
  counts[name] += more;
}
}  // namespace

struct Communicator {
  int ranks, rank;
  std::string id;
  std::atomic<bool> ready{false}, closed{false}, launching{false};
  std::atomic<int> inside{0};
};

namespace {
thread_local std::vector<Communicator*> used;  // by the group

/// Whoever is inside a communicator.
class Visit {
 public:
  Visit(Communicator* one, bool needs_ready) : one_(one) {
    if (one->inside.fetch_add(1) != 0 || one->closed || (needs_ready && (!one->ready || one->launching)))
      count("violations");
  }
  ~Visit() { one_->inside.fetch_sub(1); }

 private:
  Communicator* const one_;
};

int note(Communicator* comm, const std::string& line) {
  const Visit visit(comm, true);
  if (on("fail_call")) return first_bad = kInvalidArgument;
  used.push_back(comm);
  group += std::to_string(comm->rank) + ": " + line + "\n";
  if (depth) return kSuccess;
  const std::lock_guard lock(mutex);
  log_lines += group;
  group.clear();
  used.clear();
  return comm->launching = true, kInProgress;
}

std::string at(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%lx", reinterpret_cast<unsigned long>(address));
  return text;
}
std::string words(std::initializer_list<std::string> parts) {
  std::string line;
  for (const std::string& part : parts) line += (line.empty() ? "" : " ") + part;
  return line;
}
std::string number(size_t value) { return std::to_string(value); }
}  // namespace

extern "C" {
#pragma GCC visibility push(default)
void stub_set(const char* name, int value) {
  const std::lock_guard lock(mutex);
  switches[name] = value;
}
int stub_count(const char* name) {
  const std::lock_guard lock(mutex);
  return counts[name];
}
const char* stub_take_log(void) {
  const std::lock_guard lock(mutex);
  taken = log_lines;
  log_lines.clear();
  return taken.c_str();
}
void stub_reset(void) {
  const std::lock_guard lock(mutex);
  switches.clear();
  counts.clear();
  log_lines.clear();
}

int ncclGetVersion(int* version) { return *version = 22809, kSuccess; }
int ncclGetUniqueId(Id* id) {
  const std::lock_guard lock(mutex);
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "id %d", ++ids);
  return kSuccess;
}
const char* ncclGetErrorString(int result) { return result == kRemote ? "remote process exited" : "failed"; }
const char* ncclGetLastError(Communicator*) { return "says the stub"; }

int ncclCommInitRankConfig(Communicator** out, int ranks, Id id, int rank, Config* config) {
  if (on("fail_init")) return on("fail_init");
  if (config->magic != 0xcafebeef || config->size < 40 || config->blocking != 0) return kInvalidArgument;
  *out = new Communicator{ranks, rank, id.bytes};  // never deleted: a late call is seen
  count("live");
  count("made");
  const std::lock_guard lock(mutex);
  ++arrived[(*out)->id];
  return kInProgress;
}
int ncclCommGetAsyncError(Communicator* comm, int* state) {
  const Visit visit(comm, false);
  *state = on("async_error");
  if (*state) return kSuccess;
  *state = kInProgress;
  if (!comm->ready && !on("hold_init")) {
    const std::lock_guard lock(mutex);
    comm->ready = arrived[comm->id] == comm->ranks;
  }
  if (!comm->ready) return kSuccess;
  if (on("hold_launch") && comm->launching) return kSuccess;
  comm->launching = false;
  return *state = kSuccess, kSuccess;
}
int ncclCommFinalize(Communicator* comm) {
  const Visit visit(comm, true);
  return kInProgress;
}
int ncclCommDestroy(Communicator* comm) {
  const Visit visit(comm, true);
  comm->closed = true;
  count("live", -1);
  return count("destroyed"), kSuccess;
}
int ncclCommAbort(Communicator* comm) {
  const Visit visit(comm, false);
  count("aborting");
  while (on("block_abort")) std::this_thread::yield();
  comm->closed = true;
  count("live", -1);
  return count("aborted"), kSuccess;
}

int ncclGroupStart(void) { return ++depth, kSuccess; }
int ncclGroupEnd(void) {
  if (--depth) return kSuccess;
  const int bad = first_bad;
  first_bad = 0;
  for (Communicator* const comm : used) comm->launching = !bad;
  const bool any = !used.empty();
  used.clear();
  const std::lock_guard lock(mutex);
  if (!bad) log_lines += group + "--\n";
  group.clear();
  return bad ? bad : any ? kInProgress : kSuccess;
}

int ncclRedOpCreatePreMulSum(int* reduction, void* scalar, int dtype, int residence, Communicator* comm) {
  const Visit visit(comm, true);
  constexpr size_t kWidths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  std::string line = "premul " + std::to_string(dtype) + (residence ? " host" : " device");
  if (residence)
    for (size_t i = 0; i < kWidths[dtype]; ++i) {
      char text[4];
      std::snprintf(text, sizeof text, " %02x", static_cast<unsigned char*>(scalar)[i]);
      line += text;
    }
  else
    line += " " + at(scalar);
  const std::lock_guard lock(mutex);
  log_lines += line + "\n";
  return *reduction = 17, kSuccess;
}
int ncclRedOpDestroy(int, Communicator* comm) {
  const Visit visit(comm, true);
  return kSuccess;
}

int ncclAllReduce(const void* send, void* receive, size_t n, int dtype, int op, Communicator* comm, Stream*) {
  return note(comm, words({"all_reduce", at(send), at(receive), number(n), number(dtype), number(op)}));
}
int ncclReduce(const void* send, void* receive, size_t n, int dtype, int op, int root, Communicator* comm,
               Stream*) {
  return note(comm,
              words({"reduce", at(send), at(receive), number(n), number(dtype), number(op), number(root)}));
}
int ncclReduceScatter(const void* send, void* receive, size_t n, int dtype, int op, Communicator* comm,
                      Stream*) {
  return note(comm, words({"reduce_scatter", at(send), at(receive), number(n), number(dtype), number(op)}));
}
int ncclBroadcast(const void* send, void* receive, size_t n, int dtype, int root, Communicator* comm,
                  Stream*) {
  return note(comm, words({"broadcast", at(send), at(receive), number(n), number(dtype), number(root)}));
}
int ncclAllGather(const void* send, void* receive, size_t n, int dtype, Communicator* comm, Stream*) {
  return note(comm, words({"all_gather", at(send), at(receive), number(n), number(dtype)}));
}
int ncclSend(const void* send, size_t n, int dtype, int peer, Communicator* comm, Stream*) {
  return note(comm, words({"send", at(send), number(n), number(dtype), number(peer)}));
}
int ncclRecv(void* receive, size_t n, int dtype, int peer, Communicator* comm, Stream*) {
  return note(comm, words({"receive", at(receive), number(n), number(dtype), number(peer)}));
}
#pragma GCC visibility pop
}

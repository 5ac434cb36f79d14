// The memory budgets of a GPU and of the node's copies between real processes: never over the limit, and
// whoever could have had the last bytes has them. Prints what is wrong.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "base/shared/board.h"
#include "base/shared/memory_budget.h"

// Of a branch for null pointers that UBSan itself has added (GCC 12).
#pragma GCC diagnostic ignored "-Wstringop-overflow"

namespace jitc {
namespace {
constexpr int kProcesses = 4, kRounds = 3000;
constexpr uint64_t kLimit = 10;

/// What the processes share beside the board.
struct Shared {
  pthread_barrier_t barrier;
  std::atomic<int64_t> granted{0}, most{0}, winners{0}, without{0};
};

void require(bool right, const char* what) {
  if (right) return;
  std::printf("%s\n", what);
  std::exit(1);
}

Shared& shared_memory() {
  void* const place =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(place != MAP_FAILED, "no memory to share");
  auto& shared = *new (place) Shared;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared.barrier, &attributes, kProcesses);
  return shared;
}

// Both, with the same functions.
struct GpuBudget {
  GpuBudget(const NodeBoard& board, uint32_t slot) : budget(board, slot, 0, false) {}
  bool take(uint64_t bytes) { return budget.take(bytes, kLimit); }
  void give(uint64_t bytes) { budget.give(bytes); }
  uint64_t used() const { return budget.used(); }
  BoardBudget budget;
};

struct NodeBudget {
  NodeBudget(const NodeBoard& board, uint32_t slot) : budget(board, slot, kLimit, 0) {}
  bool take(uint64_t bytes) { return budget.take(bytes); }
  void give(uint64_t bytes) { budget.give(bytes); }
  uint64_t used() const { return budget.used(); }
  CopiesBudget budget;
};

/// All at once want what only one can have.
template <class Budget>
void race(Budget& budget, Shared& shared, int process) {
  for (int round = 0; round < kRounds; ++round) {
    pthread_barrier_wait(&shared.barrier);
    const bool got = budget.take(kLimit - static_cast<uint64_t>(process));
    if (got) shared.winners += 1;
    pthread_barrier_wait(&shared.barrier);
    if (got) budget.give(kLimit - static_cast<uint64_t>(process));
    if (process == 0 && shared.winners.exchange(0) != 1) shared.without += 1;
    pthread_barrier_wait(&shared.barrier);
  }
}

/// Everybody takes and gives as they like.
template <class Budget>
void churn(Budget& budget, Shared& shared, int process) {
  uint32_t random = static_cast<uint32_t>(process) + 1;
  for (int round = 0; round < kRounds * 10; ++round) {
    random = random * 1664525u + 1013904223u;
    const uint64_t bytes = 1 + (random >> 16) % 6;
    if (!budget.take(bytes)) continue;
    const int64_t now = shared.granted += static_cast<int64_t>(bytes);
    int64_t most = shared.most.load();
    while (now > most && !shared.most.compare_exchange_weak(most, now)) {
    }
    shared.granted -= static_cast<int64_t>(bytes);
    budget.give(bytes);
  }
}

template <class Budget>
void in_processes(const NodeBoard& board, const std::function<void(Budget&, int)>& body) {
  for (int process = 0; process < kProcesses; ++process) {
    if (fork() != 0) continue;
    Budget budget(board, static_cast<uint32_t>(process));
    body(budget, process);
    _exit(0);
  }
  for (int process = 0, status = 0; process < kProcesses; ++process)
    require(wait(&status) > 0 && status == 0, "a process failed");
}

template <class Budget>
void check(const NodeBoard& board, Shared& shared) {
  in_processes<Budget>(board, [&](Budget& budget, int process) { race(budget, shared, process); });
  require(shared.without == 0, "in a round nobody, or more than one, had what one could have");
  in_processes<Budget>(board, [&](Budget& budget, int process) { churn(budget, shared, process); });
  require(shared.most <= static_cast<int64_t>(kLimit), "more was granted than the limit allows");
  require(shared.most.exchange(0) > static_cast<int64_t>(kLimit) / 2, "hardly anything was granted");
  require(Budget(board, 9).used() == 0, "something is still counted");
}

}  // namespace
}  // namespace jitc

int main() {
  using namespace jitc;
  alarm(100);
  const int fd = memfd_create("test-board", 0);
  const Board whole("/proc/self/fd/" + std::to_string(fd));
  const NodeBoard& board = whole.node;
  Shared& shared = shared_memory();
  check<GpuBudget>(board, shared);
  check<NodeBudget>(board, shared);
}

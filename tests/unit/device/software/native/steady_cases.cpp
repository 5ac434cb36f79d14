// Hashes of blocks that stay the same: known without a look at them, and never wrong when something writes.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/content_hash.h"
#include "device/software/steady/steady_hashes.h"
#include "harness.h"

namespace jitc::test {
namespace {
using software::SteadyHashes;
constexpr uint64_t kPage = software::WatchedPages::kPage;
constexpr uint64_t kBytes = 3 * kPage * 100 + 5000;  // not of whole pages
constexpr int kEnough = 6;                           // looks, until it counts as at rest
constexpr int kWatches = 4096;                       // at once, of the process (watched_pages.cpp)

/// As /proc/self/maps says: "rw-p".
std::string access_of(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    size_t dash = 0;
    const uint64_t from = std::stoull(line, &dash, 16), to = std::stoull(line.substr(dash + 1), nullptr, 16);
    if (address >= from && address < to) return line.substr(line.find(' ') + 1, 4);
  }
  return "none";
}

/// Behind the back of the processor's protection.
void write_unseen(uint64_t address, uint8_t value) {
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  CHECK_EQUAL(pwrite(memory, &value, 1, static_cast<off_t>(address)), 1);
  close(memory);
}

/// A session with a block that nothing has written for some looks. It does not begin with its page.
struct Steady {
  Session s;
  const uint64_t address = s.upload(std::vector<uint8_t>(kBytes + 2 * kPage, 3)) + 512;
  const uint64_t middle = address + kBytes / 2, last = address + kBytes - 1;

  Steady() { look(kEnough); }
  Hash hash() { return s.hash(address, kBytes); }
  void look(int times) {
    for (int i = 0; i < times; ++i) hash();
  }
  /// Computed here.
  Hash real() {
    const auto bytes = s.download<uint8_t>(address, kBytes);
    return content_hash(std::as_bytes(std::span(bytes)));
  }
  void write(uint64_t at, uint8_t value) {
    s.fill(at, 1, value);
    s.synchronize();
  }
};

/// Memory of no session.
struct OwnPages {
  const uint64_t bytes;
  void* const memory;

  explicit OwnPages(int pages)
      : bytes(static_cast<uint64_t>(pages) * kPage),
        memory(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    CHECK(memory != MAP_FAILED);
  }
  ~OwnPages() { munmap(memory, bytes); }
  OwnPages(const OwnPages&) = delete;
  OwnPages& operator=(const OwnPages&) = delete;
  uint64_t page(int number) const {
    return reinterpret_cast<uint64_t>(memory) + static_cast<uint64_t>(number) * kPage;
  }
};
}  // namespace

CASE(steady_block_is_not_hashed_again) {
  Steady one;
  CHECK(access_of(one.middle) == "r--p");
  const Hash before = one.hash();
  CHECK(before == one.real());
  write_unseen(one.middle, 9);
  CHECK(one.real() != before && one.hash() == before);
}

CASE(steady_block_that_is_written_is_hashed_again) {
  Steady one;
  for (const uint64_t at :
       {one.address, one.middle, one.last}) {  // the ends are in pages that are not watched
    const Hash before = one.hash();
    one.write(at, 7);
    CHECK(one.hash() != before);
    CHECK(one.hash() == one.real());
    one.look(kEnough);
    CHECK(access_of(one.middle) == "r--p");
    CHECK(one.hash() == one.real());
  }
  one.write(one.address - 1, 1);  // neighbours
  one.write(one.last + 1, 1);
  CHECK(access_of(one.middle) == "r--p");
  CHECK(one.hash() == one.real());
  CHECK(one.s.sink.faults().empty());
}

CASE(steady_block_that_was_written_is_left_alone_for_a_while) {
  Steady one;
  one.write(one.middle, 1);
  for (int look = 0; look < 4; ++look) {
    CHECK(one.hash() == one.real());
    CHECK(access_of(one.middle) == "rw-p");
  }
  one.look(2);
  CHECK(access_of(one.middle) == "r--p");
}

CASE(steady_between_two_steps_is_known_before_the_second) {
  Steady one;
  for (int step = 1; step < 30; ++step) {
    one.write(one.middle, static_cast<uint8_t>(step));
    const Hash after = one.hash();
    const bool watched = access_of(one.middle) == "r--p";
    CHECK_EQUAL(watched, step > 2);
    CHECK(after == one.real());
    if (watched) write_unseen(one.middle, 99);
    CHECK(one.hash() == after);              // before the next step
    CHECK(access_of(one.middle) == "rw-p");  // which will write there
    one.write(one.middle, static_cast<uint8_t>(step));
  }
}

CASE(steady_between_two_steps_is_not_believed) {
  Steady one;
  for (int step = 1; step < 30; ++step) {
    one.write(one.middle, static_cast<uint8_t>(step));
    CHECK(one.hash() == one.real());
    if (step % 7 == 0) one.write(step % 2 ? one.middle : one.address, 200);
    CHECK(one.hash() == one.real());
  }
}

CASE(steady_watches_can_begin_any_number_of_times) {
  const OwnPages own(1);
  software::WatchedPages watched;
  for (int time = 0; time < 3 * kWatches; ++time) {
    CHECK(watched.watch(own.page(0), kPage));  // ends the one before, written or not
    if (time % 2) *reinterpret_cast<volatile uint8_t*>(own.page(0)) = 1;
    CHECK_EQUAL(watched.unwritten(own.page(0), kPage), time % 2 == 0);
    if (time % 3 == 0) watched.end_in(own.page(0), kPage);
  }
}

CASE(steady_watches_beyond_the_limit_are_refused_until_one_ends) {
  const OwnPages own(2 * kWatches + 2);
  software::WatchedPages watched;
  int taken = 0;
  while (watched.watch(own.page(2 * taken), kPage)) ++taken;
  CHECK_EQUAL(taken, kWatches);
  watched.end_in(own.page(14), kPage);
  CHECK(watched.watch(own.page(2 * kWatches), kPage));
  CHECK(!watched.watch(own.page(14), kPage));
  CHECK(watched.unwritten(own.page(16), kPage));
}

CASE(steady_block_is_written_by_many_threads_at_once) {
  Steady one;
  for (int round = 0; round < 20; ++round) {
    one.look(kEnough);
    CHECK(access_of(one.middle) == "r--p");
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < 4) {
        }
        *reinterpret_cast<volatile uint8_t*>(one.address + (i + 1) * 20 * kPage) =
            static_cast<uint8_t>(round);
      });
    for (std::thread& thread : threads) thread.join();
    for (uint64_t i = 0; i < 4; ++i)
      CHECK_EQUAL(int{one.s.download<uint8_t>(one.address + (i + 1) * 20 * kPage, 1)[0]}, round);
    CHECK(one.hash() == one.real());
  }
}

CASE(steady_block_that_comes_anew_is_another_one) {
  Steady one;
  const Hash before = one.hash();
  one.s.release(one.address - 512);
  one.s.synchronize();
  CHECK(one.hash() == kNoHash);
  CHECK_EQUAL(one.s.try_allocate(one.address - 512, (kBytes + 3 * kPage) / kPage * kPage), 0u);
  CHECK(one.hash() != before && one.hash() == one.real());
  CHECK(access_of(one.middle) == "rw-p");
}

CASE(steady_block_that_was_freed_comes_back_as_it_was) {
  Steady one;
  const Hash before = one.hash();
  const uint64_t block = one.address - 512, bytes = (kBytes + 2 * kPage + kPage - 1) / kPage * kPage;
  one.s.backend->commit();
  for (const bool replaced : {false, true}) {
    one.s.release(block);
    one.s.synchronize();
    if (replaced) CHECK_EQUAL(one.s.try_allocate(block, kPage), 0u);
    if (replaced) one.write(block + 600, 9);
    one.s.restore({.allocations = {{block, bytes}}});
    CHECK(one.hash() == before && one.real() == before);
    one.write(one.middle, 5);
    CHECK(one.hash() == one.real() && one.hash() != before);
    one.write(one.middle, 3);
    one.look(kEnough);
  }
}

CASE(steady_memory_of_the_program_is_not_watched) {
  Session s;
  std::vector<uint8_t> memory(kBytes, 3);
  const auto address = reinterpret_cast<uint64_t>(memory.data());
  s.restore({.host_ranges = {{address, kBytes}}});
  for (int i = 0; i < 2 * kEnough; ++i) CHECK(s.hash(address, kBytes) != kNoHash);
  CHECK(access_of(address + kBytes / 2) == "rw-p");
}

CASE(steady_crash_elsewhere_stays_a_crash) {
  for (const bool handled : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      struct sigaction earlier = {};
      earlier.sa_handler = [](int) { _exit(42); };
      if (handled) sigaction(SIGSEGV, &earlier, nullptr);
      Steady one;
      *reinterpret_cast<volatile uint8_t*>(one.s.base + (1u << 29)) = 1;
      _exit(0);
    }
    int status = 0;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;  // a sanitizer reports it, and exits
    CHECK(handled ? code == 42 : code != 0);
  }
}

CASE(steady_blocks_beyond_what_can_be_watched_are_hashed) {
  Session s({.limit = 8ull << 30});
  constexpr uint64_t kEach = SteadyHashes::kLeast, kCount = 4200;
  std::vector<MemoryRange> blocks;
  for (uint64_t i = 0; i * 4 < kCount; ++i) {
    const uint64_t at = s.allocate(4 * kEach);
    for (uint64_t part = 0; part < 4; ++part) blocks.push_back({at + part * kEach, kEach});
  }
  std::vector<Hash> first(blocks.size()), now(blocks.size());
  s.backend->hash_all(blocks, first);
  for (int i = 0; i < kEnough; ++i) s.backend->hash_all(blocks, now);
  CHECK(now == first);
  for (const size_t i : {size_t{0}, blocks.size() - 1}) s.fill(blocks[i].address + kPage, 1, 1);
  s.synchronize();
  s.backend->hash_all(blocks, now);
  CHECK(now[0] != first[0] && now[1] == first[1] && now.back() != first.back());
}

}  // namespace jitc::test

// Copies of many blocks into memory that the driver is told of (access/block_copier.h).
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>

#include "device/cuda/access/block_copier.h"
#include "kernel/kernels.h"

namespace jitc::test {
namespace {
constexpr size_t kWindow = cuda::RegisteredCopies::kWindow;
constexpr int kHostMemoryAlreadyRegistered = 712;

/// Two windows and a half.
class Arena {
 public:
  Arena() : memory_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    CHECK(memory_ != MAP_FAILED);
  }
  ~Arena() { ::munmap(memory_, kBytes); }
  std::span<std::byte> whole() const { return {static_cast<std::byte*>(memory_), kBytes}; }
  std::span<std::byte> at(size_t offset, size_t bytes) const { return whole().subspan(offset, bytes); }

 private:
  static constexpr size_t kBytes = kWindow * 5 / 2;
  void* const memory_;
};

std::vector<uint8_t> content(size_t bytes, uint8_t first) {
  std::vector<uint8_t> made(bytes);
  std::iota(made.begin(), made.end(), first);
  return made;
}

bool holds(std::span<const std::byte> memory, const std::vector<uint8_t>& wanted) {
  return std::ranges::equal(memory, std::as_bytes(std::span(wanted)));
}

/// Whether the driver knows the window's memory. A copy before makes the context current here.
bool is_registered(const Arena& arena, size_t window) {
  void* const driver = ::dlopen(JITC_TEST_DRIVER, RTLD_NOW | RTLD_NOLOAD);
  CHECK(driver);
  const auto of = [&](const char* name) { return ::dlsym(driver, name); };
  const auto take = reinterpret_cast<int (*)(void*, size_t, unsigned)>(of("cuMemHostRegister_v2"));
  const auto give = reinterpret_cast<int (*)(void*)>(of("cuMemHostUnregister"));
  void* const memory = arena.at(window * kWindow, 4096).data();
  const int code = take(memory, 4096, 0);
  if (code == 0) CHECK_EQUAL(give(memory), 0);
  CHECK(code == 0 || code == kHostMemoryAlreadyRegistered);
  return code != 0;
}
}  // namespace

CASE(copier_blocks_arrive_also_across_windows) {
  const Arena arena;
  Session s;
  const auto first = content(8192, 3), second = content(100, 7), third = content(kWindow + 5000, 11);
  const uint64_t a = s.upload(first), b = s.upload(second), c = s.upload(third);
  s.synchronize();
  s.backend->copier()->use(arena.whole());
  const std::vector<BlockCopy> blocks{{a, arena.at(kWindow - 4096, 8192)},
                                      {b, arena.at(0, 100)},
                                      {c, arena.at(kWindow * 5 / 2 - third.size(), third.size())}};
  CHECK(s.backend->copier()->copy(blocks));
  CHECK(holds(blocks[0].copy, first));
  CHECK(holds(blocks[1].copy, second));
  CHECK(holds(blocks[2].copy, third));
  CHECK(s.backend->copier()->copy({}));
}

CASE(copier_gives_blocks_back_what_their_copies_hold) {
  prepare_failures();
  const Arena arena;
  Session s;
  const auto bytes = content(8192, 3), large = content(kWindow + 5000, 11),
             later = content(kWindow + 5000, 99);
  const uint64_t a = s.upload(later), b = s.upload(later);
  s.synchronize();
  BlockCopier& copier = *s.backend->copier();
  copier.use(arena.whole());
  const std::vector<BlockCopy> blocks{{a, arena.at(kWindow - 4096, bytes.size())},
                                      {b, arena.at(kWindow * 5 / 2 - large.size(), large.size())}};
  std::memcpy(blocks[0].copy.data(), bytes.data(), bytes.size());
  std::memcpy(blocks[1].copy.data(), large.data(), large.size());
  const auto there = [&](const BlockCopy& one) {
    std::vector<std::byte> found(one.copy.size());
    CHECK(s.backend->read(one.address, found));
    return std::ranges::equal(found, one.copy);
  };
  CHECK(copier.put_back(blocks));
  CHECK(there(blocks[0]) && there(blocks[1]));
  CHECK(is_registered(arena, 0) && is_registered(arena, 1) && is_registered(arena, 2));
  copier.forget(arena.whole());
  std::memset(blocks[1].copy.data(), 5, large.size());
  ask_for_failures("cuMemHostRegister_v2:1=2");
  CHECK(copier.put_back({&blocks[1], 1}));  // by the detour
  CHECK(there(blocks[1]) && !is_registered(arena, 2));
  const BlockCopy nowhere{b + (64u << 20), arena.at(0, 4096)};
  CHECK(!copier.put_back({&nowhere, 1}));
}

CASE(copier_tells_the_driver_of_what_it_uses_until_it_is_forgotten) {
  const Arena arena;
  const auto bytes = content(4096, 1);
  const auto copied = [&](Session& s) {
    const uint64_t block = s.upload(bytes);
    s.synchronize();
    s.backend->copier()->use(arena.whole());
    const BlockCopy one{block, arena.at(kWindow + 4096, 4096)};
    CHECK(s.backend->copier()->copy({&one, 1}));
    CHECK(holds(one.copy, bytes));
  };
  {
    Session s;
    copied(s);
    CHECK(!is_registered(arena, 0));
    CHECK(is_registered(arena, 1));
    CHECK(!is_registered(arena, 2));
    s.backend->copier()->forget(arena.at(0, kWindow));
    CHECK(is_registered(arena, 1));
    s.backend->copier()->forget(arena.at(kWindow - 1, 2));
    CHECK(!is_registered(arena, 1));
    copied(s);
    CHECK(is_registered(arena, 1));
  }
  Session other;
  other.backend->copier()->use(arena.at(0, 4096));
  const uint64_t block = other.upload(bytes);
  other.synchronize();
  const BlockCopy one{block, arena.at(0, 4096)};
  CHECK(other.backend->copier()->copy({&one, 1}));
  CHECK(!is_registered(arena, 1));
}

CASE(copier_takes_a_detour_where_nothing_can_be_registered) {
  prepare_failures();
  const Arena arena;
  Session s;
  const auto bytes = content((8u << 20) + 77, 5);
  const uint64_t block = s.upload(bytes);
  s.synchronize();
  s.backend->copier()->use(arena.whole());
  ask_for_failures("cuMemHostRegister_v2:1=2");
  const BlockCopy one{block, arena.at(kWindow - 4096, bytes.size())};
  CHECK(s.backend->copier()->copy({&one, 1}));
  CHECK(holds(one.copy, bytes));
  CHECK(!is_registered(arena, 0) && !is_registered(arena, 1));
  CHECK(s.backend->copier()->copy({&one, 1}));  // memory may have been short: it is asked for again
  CHECK(holds(one.copy, bytes));
  CHECK(is_registered(arena, 0) && is_registered(arena, 1));
}

CASE(copier_refuses_blocks_that_are_not_there) {
  const Arena arena;
  Session s;
  const uint64_t block = s.upload(content(4096, 1));
  s.synchronize();
  s.backend->copier()->use(arena.whole());
  const std::vector<BlockCopy> blocks{{block, arena.at(0, 4096)},
                                      {block + (64u << 20), arena.at(4096, 4096)}};
  CHECK(!s.backend->copier()->copy(blocks));
  CHECK(holds(arena.at(0, 4096), std::vector<uint8_t>(4096)));
}

CASE(copier_a_copy_that_fails_is_the_devices_fault) {
  prepare_failures();
  const Arena arena;
  Session s;
  const uint64_t block = s.upload(content(4096, 1));
  s.synchronize();
  s.backend->copier()->use(arena.whole());
  ask_for_failures("run:1=700");
  const BlockCopy one{block, arena.at(0, 4096)};
  CHECK(!s.backend->copier()->copy({&one, 1}));
  CHECK_EQUAL(s.sink.wait_fault().status, 700u);
}

}  // namespace jitc::test

// Memory with a fence, for the fuzz of operators: whoever touches a byte before or behind it dies at once.
//
// Called from Python (operator_fuzz.py) with ctypes, before the operators library is opened. Promises: every
// tensor that PyTorch's CPU allocator makes from then on ends right before a page that nobody may touch and
// begins behind one; freed memory is such a page too; new memory holds no zeros that a kernel could count on.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#define FENCE extern "C" __attribute__((visibility("default")))

namespace {

constexpr size_t kFilled = 1 << 20;   // bytes of an allocation that are filled
constexpr int kFill = 0xa5;           // as an index: far below zero
constexpr size_t kMostFenced = 8192;  // allocations at a time; the kernel allows 65,530 mappings

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));

struct Region {
  char* begin;  // of the page before the memory
  size_t bytes;
};

size_t pages(size_t bytes) { return (bytes + page - 1) / page * page; }

/// bytes between two pages that may not be touched, with the room that is left over in front.
char* fenced(size_t bytes, Region& region) {
  const size_t room = std::max(pages(bytes), page);
  region.bytes = room + 2 * page;
  void* made = mmap(nullptr, region.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  region.begin = static_cast<char*>(made);
  if (mprotect(region.begin + page, room, PROT_READ | PROT_WRITE) != 0) {
    munmap(made, region.bytes);
    return nullptr;
  }
  return region.begin + page + room - bytes;
}

std::mutex mutex;
std::unordered_map<void*, Region>& regions() {
  static auto& known = *new std::unordered_map<void*, Region>;
  return known;
}

void release(void* memory) {
  const std::lock_guard lock(mutex);
  const auto found = regions().find(memory);
  if (found == regions().end()) return;
  munmap(found->second.begin, found->second.bytes);
  regions().erase(found);
}

class FencedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (!bytes) return {nullptr, nullptr, &release, cpu};
    const std::lock_guard lock(mutex);
    Region region{};
    char* memory = bytes < SIZE_MAX / 2 && regions().size() < kMostFenced ? fenced(bytes, region) : nullptr;
    if (!memory) throw std::bad_alloc();
    regions()[memory] = region;
    memset(memory, kFill, std::min(bytes, kFilled));
    return {memory, memory, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
};

}  // namespace

/// Before the operators library puts its allocator in front.
FENCE void fence_install(void) {
  static FencedAllocator allocator;
  c10::SetCPUAllocator(&allocator, 0);
}

/// The first of count places of bytes (whole pages) each; the next one begins bytes and a page further on.
FENCE void* fence_places(size_t count, size_t bytes) {
  const size_t step = pages(bytes) + page;
  void* made = mmap(nullptr, count * step + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  char* first = static_cast<char*>(made) + page;
  for (size_t i = 0; i < count; ++i) mprotect(first + i * step, step - page, PROT_READ | PROT_WRITE);
  return first;
}

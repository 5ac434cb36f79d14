#include "pinned_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/dumps.h"
#include "base/error.h"
#include "base/open_file.h"

namespace jitc {
namespace {
constexpr uint64_t kPage = 4096;

void check(const OpenFile& file, uint64_t bytes) {
  struct stat status{};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (fstat(file.get(), &status) != 0 || seals < 0 || !(seals & F_SEAL_SHRINK))
    throw Error("the pinned memory is not sealed against shrinking");
  if (static_cast<uint64_t>(status.st_size) < bytes) throw Error("the pinned memory is too short");
}
}  // namespace

PinnedMemory::PinnedMemory(const Place& place) {
  if (place.path.empty()) return;
  if (!place.bytes || place.base % kPage || place.bytes % kPage || place.base > UINT64_MAX - place.bytes)
    throw Error("the pinned memory's range is no range of pages");
  const OpenFile file(place.path);
  if (!file) throw Error("cannot open the pinned memory " + place.path + ": " + file.reason());
  check(file, place.bytes);
  void* const wanted = reinterpret_cast<void*>(place.base);
  void* const got = mmap(wanted, place.bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file.get(), 0);
  if (got != wanted) {
    const std::string why = got == MAP_FAILED ? std::strerror(errno) : "the kernel gave another address";
    if (got != MAP_FAILED) munmap(got, place.bytes);
    throw Error("cannot map the pinned memory at its address: " + why);
  }
  leave_out_of_dumps(got, place.bytes);
  range_ = {place.base, place.bytes};
}

PinnedMemory::~PinnedMemory() {
  if (range_.bytes) munmap(reinterpret_cast<void*>(range_.base), range_.bytes);
}

}  // namespace jitc

// See gpu_use.h.
#include "gpu_use.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "../common/processes.h"

namespace jitc::fakes {
namespace {
struct Record {
  int32_t process, physical;
  uint64_t bytes;
};
constexpr size_t kRecords = 256;

/// The records of all processes, locked; of this process alone where no file is named.
class Records {
 public:
  Records() : lock_(mutex()) {
    static Record own[kRecords] = {};
    records_ = own;
    const char* const path = std::getenv("JITC_FAKE_MEMORY_USE");
    if (!path || !*path) return;
    file_ = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* mapped = MAP_FAILED;
    if (file_ >= 0 && ::flock(file_, LOCK_EX) == 0 && ::ftruncate(file_, sizeof own) == 0)
      mapped = ::mmap(nullptr, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) std::perror("jitc fakes: JITC_FAKE_MEMORY_USE"), std::abort();
    records_ = static_cast<Record*>(mapped);
    for (Record& one : *this)
      if (one.process && one.process != ::getpid() && ended(one.process)) one = {};
  }
  ~Records() {
    if (file_ < 0) return;
    ::munmap(records_, sizeof(Record) * kRecords);
    ::close(file_);  // and unlocks
  }
  Record* begin() { return records_; }
  Record* end() { return records_ + kRecords; }

  uint64_t used(int physical) {
    uint64_t bytes = 0;
    for (const Record& one : *this)
      if (one.process && one.physical == physical) bytes += one.bytes;
    return bytes;
  }
  /// Of this process.
  Record& of(int physical) {
    for (Record& one : *this)
      if (one.process == ::getpid() && one.physical == physical) return one;
    for (Record& one : *this)
      if (!one.process) return one = {::getpid(), physical, 0};
    std::fprintf(stderr, "jitc fakes: too many processes in JITC_FAKE_MEMORY_USE\n");
    std::abort();
  }

 private:
  static std::mutex& mutex() {
    static auto& one = *new std::mutex;
    return one;
  }
  std::lock_guard<std::mutex> lock_;
  int file_ = -1;
  Record* records_;
};
}  // namespace

bool take_of_gpu(int physical, size_t bytes, size_t total) {
  Records records;
  if (records.used(physical) + bytes > total) return false;
  records.of(physical).bytes += bytes;
  return true;
}

void give_to_gpu(int physical, size_t bytes) {
  Records records;
  records.of(physical).bytes -= bytes;
}

size_t used_of_gpu(int physical) { return Records().used(physical); }

}  // namespace jitc::fakes

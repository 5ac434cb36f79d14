#include "progress_reader.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace jitc::session {
namespace {

long futex(std::atomic<uint32_t>& word, int what, uint32_t value, const timespec* time) {
  return ::syscall(SYS_futex, &word, what, value, time, nullptr, 0);
}

void wake_place(ProgressPage::Place& place) {
  if (place.sleepers.load() == 0) return;
  place.version.fetch_add(2);
  futex(place.version, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace

void ProgressReader::open(const PinnedRegion& region) {
  if (page_ != nullptr || region.fd < 0 || region.bytes < kPinnedReserved) return;
  void* const page = ::mmap(nullptr, sizeof(ProgressPage), PROT_READ | PROT_WRITE, MAP_SHARED, region.fd,
                            static_cast<off_t>(ProgressPage::kOffset));
  if (page == MAP_FAILED) return;
  page_ = static_cast<ProgressPage*>(page);
  page_->waiters.reader.store(ProgressPage::kReader);
}

/// Retries if the place changes hands meanwhile, which is rare; 0 is always a right answer.
uint64_t ProgressReader::executed(uint64_t stream) const {
  if (page_ == nullptr) return 0;
  const ProgressPage::Place& place = page_->places[ProgressPage::place_of(stream)];
  for (int tries = 0; tries < 3; ++tries) {
    const uint32_t version = place.version.load();
    const bool its_own = version % 2 == 0 && place.stream.load() == stream + 1;
    const uint64_t executed = its_own ? place.executed.load() : 0;
    if (place.version.load() == version) return executed;
  }
  return 0;
}

void ProgressReader::wake(uint64_t stream) {
  if (page_ != nullptr) wake_place(page_->places[ProgressPage::place_of(stream)]);
}

void ProgressReader::wake_all() {
  if (page_ == nullptr || page_->waiters.sleepers.load() == 0) return;
  for (ProgressPage::Place& place : page_->places) wake_place(place);
}

ProgressReader::Sleeper::Sleeper(ProgressReader& reader, uint64_t stream)
    : page_(*reader.page_), place_(page_.places[ProgressPage::place_of(stream)]) {
  ProgressPage::Waiters& all = page_.waiters;
  place_.sleepers.fetch_add(1);
  all.sleepers.fetch_add(1);
  all.rings.fetch_add(1);
  if (all.napping.load() != 0) futex(all.rings, FUTEX_WAKE, INT_MAX, nullptr);
}

ProgressReader::Sleeper::~Sleeper() {
  place_.sleepers.fetch_sub(1);
  page_.waiters.sleepers.fetch_sub(1);
}

void ProgressReader::Sleeper::sleep(uint32_t version, std::chrono::microseconds longest) const {
  const timespec time{longest.count() / 1'000'000, longest.count() % 1'000'000 * 1000};
  futex(place_.version, FUTEX_WAIT, version, &time);
}

}  // namespace jitc::session

// See client.h.
#include "client.h"

#include <sys/mman.h>

#include <chrono>
#include <cstdlib>

namespace jitc::test {

// ThreadSanitizer does not allow the usual place.
#if defined(__SANITIZE_THREAD__)
const uint64_t kBase = 0x1000000000;
#else
const uint64_t kBase = 0x200000000000;
#endif

Shuffle shuffle_of_environment(double hang_seconds) {
  const char* const seed = std::getenv("JITC_TEST_SHUFFLE");
  return {seed ? std::strtoull(seed, nullptr, 10) : 0, 0, hang_seconds};
}

void Sink::result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  {
    const std::lock_guard lock(mutex_);
    const bool fresh = results_.emplace(sequence, Reply{status, {payload.begin(), payload.end()}}).second;
    if (!fresh) faults_.push_back({sequence, 0, "test", "a second result for one op"});
    order_.push_back(sequence);
    condition_.notify_all();
  }
  if (on_result) on_result(sequence);
}

void Sink::progress(uint64_t stream, uint64_t sequence) {
  if (on_progress) on_progress(sequence);
  const std::lock_guard lock(mutex_);
  if (sequence < progress_[stream]) faults_.push_back({sequence, 0, "test", "progress went back"});
  progress_[stream] = sequence;
  condition_.notify_all();
}

void Sink::fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) {
  const std::lock_guard lock(mutex_);
  faults_.push_back({sequence, status, std::string(cause), std::string(message)});
  condition_.notify_all();
}

void Sink::race(const Race& race) {
  const std::lock_guard lock(mutex_);
  races_.push_back(race);
}

std::vector<Race> Sink::races() {
  const std::lock_guard lock(mutex_);
  return races_;
}

void Sink::injection_point(const ops::OpHeader& op, std::string_view phase) {
  if (on_injection) on_injection(op, phase);
}

void Sink::wait(const char* what, const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  if (!condition_.wait_for(lock, std::chrono::seconds(kLimitSeconds), done))
    throw Failure{std::string("timed out: ") + what};
}

Reply Sink::wait_result(uint64_t sequence) {
  wait("result", [&] { return results_.contains(sequence) || !faults_.empty(); });
  const std::lock_guard lock(mutex_);
  if (!results_.contains(sequence)) throw Failure{"fault instead of a result: " + faults_.front().message};
  return results_.at(sequence);
}

void Sink::wait_progress(uint64_t stream, uint64_t sequence) {
  wait("progress", [&] { return progress_[stream] >= sequence || !faults_.empty(); });
  const std::lock_guard lock(mutex_);
  if (progress_[stream] < sequence) throw Failure{"fault instead of progress: " + faults_.front().message};
}

Sink::Fault Sink::wait_fault() {
  wait("fault", [&] { return !faults_.empty(); });
  const std::lock_guard lock(mutex_);
  return faults_.front();
}

std::vector<uint64_t> Sink::results() {
  const std::lock_guard lock(mutex_);
  return order_;
}

bool Sink::has_result(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  return results_.contains(sequence);
}

uint64_t Sink::progress_of(uint64_t stream) {
  const std::lock_guard lock(mutex_);
  return progress_[stream];
}

std::vector<Sink::Fault> Sink::faults() {
  const std::lock_guard lock(mutex_);
  return faults_;
}

void Sink::forget() {
  const std::lock_guard lock(mutex_);
  results_.clear();
  progress_.clear();
  faults_.clear();
}

void Gate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  condition_.notify_all();
}

void Gate::pass() {
  std::unique_lock lock(mutex_);
  condition_.wait_for(lock, std::chrono::seconds(kLimitSeconds), [this] { return open_; });
}

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(1 + i * 7 + i / 251);
  return data;
}

PinnedMap::PinnedMap() : range{kBase + 32 * kRange, kBytes} {
  void* const wanted = reinterpret_cast<void*>(range.base);
  if (mmap(wanted, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
      wanted)
    throw Failure{"the address of pinned memory is taken"};
}

PinnedMap::~PinnedMap() { munmap(reinterpret_cast<void*>(range.base), kBytes); }

uint64_t Client::give_record(const void* op, size_t fixed, uint16_t id, uint64_t stream, const void* payload,
                             size_t bytes) {
  const std::lock_guard lock(mutex_);
  const size_t size = (fixed + bytes + 7) / 8 * 8;
  auto& record = records_.emplace_back(size / 8);
  std::memcpy(record.data(), op, fixed);
  if (bytes) std::memcpy(reinterpret_cast<std::byte*>(record.data()) + fixed, payload, bytes);
  auto& header = *reinterpret_cast<ops::OpHeader*>(record.data());
  header = {static_cast<uint32_t>(size), id, 0, stream, ++sequence_};
  backend->enqueue(header);
  return sequence_;
}

std::vector<std::byte> Client::record_of(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    const auto& header = *reinterpret_cast<const ops::OpHeader*>(record->data());
    const auto bytes = std::as_bytes(std::span(*record));
    if (header.sequence == sequence) return {bytes.begin(), bytes.end()};
  }
  throw Failure{"no such op was given"};
}

uint64_t Client::allocate(uint64_t bytes) {
  ops::Allocate op;
  op.address = next_;
  op.bytes = (bytes + 4095) / 4096 * 4096;
  next_ += (op.bytes + kBlock - 1) / kBlock * kBlock;
  const Reply reply = ask(op);
  if (reply.status != 0) throw Failure{"allocate: " + reply.text()};
  return op.address;
}

}  // namespace jitc::test

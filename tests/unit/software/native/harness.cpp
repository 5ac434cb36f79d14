// See harness.h.
#include "harness.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "software/collectives.h"

namespace jitc::test {
namespace {
constexpr std::chrono::seconds kLimit{60};  // only reached when something hangs

std::map<std::string, std::function<void()>>& cases() {
  static std::map<std::string, std::function<void()>> all;
  return all;
}

std::string memory_file(uint64_t bytes) {
  const int file = memfd_create("jitc-test", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) throw Failure{"memfd"};
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
}
}  // namespace

// ThreadSanitizer does not allow the usual place.
#if defined(__SANITIZE_THREAD__)
const uint64_t kBase = 0x1000000000;
#else
const uint64_t kBase = 0x200000000000;
#endif
constexpr uint64_t kRange = uint64_t{8} << 30;

void Sink::result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  const std::lock_guard lock(mutex_);
  const bool fresh = results_.emplace(sequence, Reply{status, {payload.begin(), payload.end()}}).second;
  if (!fresh) faults_.push_back({sequence, 0, "test", "a second result for one op"});
  condition_.notify_all();
}

void Sink::progress(uint64_t stream, uint64_t sequence) {
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

void Sink::injection_point(const ops::OpHeader& op, std::string_view phase) {
  if (on_injection) on_injection(op, phase);
}

void Sink::wait(const char* what, const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  if (!condition_.wait_for(lock, kLimit, done)) throw Failure{std::string("timed out: ") + what};
}

Reply Sink::wait_result(uint64_t sequence) {
  wait("result", [&] { return results_.contains(sequence) || !faults_.empty(); });
  const std::lock_guard lock(mutex_);
  if (!results_.contains(sequence)) throw Failure{"fault instead of a result: " + faults_.front().message};
  return results_.at(sequence);
}

void Sink::wait_progress(uint64_t stream, uint64_t sequence) {
  wait("progress", [&] { return progress_[stream] >= sequence; });
}

Sink::Fault Sink::wait_fault() {
  wait("fault", [&] { return !faults_.empty(); });
  const std::lock_guard lock(mutex_);
  return faults_.front();
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

void Gate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  condition_.notify_all();
}

void Gate::pass() {
  std::unique_lock lock(mutex_);
  condition_.wait_for(lock, kLimit, [this] { return open_; });
}

void Segments::make(const std::array<uint8_t, 128>& id, uint32_t ranks) {
  known_[id] = memory_file(software::software_segment_bytes(ranks));
}

void Segments::make_spares(uint32_t ranks, size_t count) {
  for (size_t i = 0; i < count; ++i) spares_.push_back(memory_file(software::software_segment_bytes(ranks)));
  void* const shared =
      mmap(nullptr, 4096 + count * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  lock_ = static_cast<std::atomic<uint32_t>*>(shared);
  table_ = reinterpret_cast<Entry*>(static_cast<std::byte*>(shared) + 4096);
}

std::string Segments::join(const std::array<uint8_t, 128>& id, uint32_t ranks, uint32_t, uint64_t& bytes,
                           std::string& error) {
  bytes = software::software_segment_bytes(ranks);
  if (const auto found = known_.find(id); found != known_.end()) return found->second;
  std::string path;
  if (table_) {
    while (lock_->exchange(1)) usleep(100);
    for (size_t i = 0; i < spares_.size() && path.empty(); ++i) {
      if (table_[i].used && table_[i].id != id) continue;
      table_[i].id = id;
      table_[i].used = 1;
      path = spares_[i];
    }
    lock_->store(0);
  }
  if (path.empty()) error = "nobody knows this communicator";
  return path;
}

std::array<uint8_t, 128> unique_id(uint8_t value) {
  std::array<uint8_t, 128> id{};
  id.fill(value);
  return id;
}

Session::Session(Rendezvous* rendezvous, uint64_t slot, uint64_t limit, const std::string& operators)
    : base(kBase + slot * kRange), next_(base) {
  std::string error;
  backend = make_software_backend({base, kRange, limit, 1, operators}, sink,
                                  rendezvous ? *rendezvous : no_segments, error);
  if (!backend) throw Failure{error};
}

Session::~Session() { backend.reset(); }

uint64_t Session::give_record(const void* op, size_t fixed, uint16_t id, uint64_t stream, const void* payload,
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

uint64_t Session::allocate(uint64_t bytes) {
  ops::Allocate op;
  op.address = next_;
  op.bytes = (bytes + 4095) / 4096 * 4096;
  next_ += (op.bytes + kBlock - 1) / kBlock * kBlock;
  const Reply reply = ask(op);
  if (reply.status != 0) throw Failure{"allocate: " + reply.text()};
  return op.address;
}

uint64_t Session::communicator(uint8_t id, int ranks, int rank, uint64_t handle) {
  ops::CommunicatorCreate op;
  op.handle = handle;
  op.ranks = ranks;
  op.rank = rank;
  op.unique_id = unique_id(id);
  const Reply reply = ask(op);
  if (reply.status != 0) throw Failure{"communicator: " + reply.text()};
  return handle;
}

Case::Case(const char* name, std::function<void()> run) { cases()[name] = std::move(run); }

namespace {
int run_one(const std::string& name, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const Failure& failure) {
    std::cerr << name << ": " << failure.message << std::endl;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << std::endl;
  }
  return 1;
}
}  // namespace

void run_ranks(int ranks, const std::function<void(int rank)>& body) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(static_cast<unsigned>(kLimit.count()) + 30);
      std::exit(run_one("rank " + std::to_string(rank), [&] { body(rank); }));
    }
    children.push_back(child);
  }
  bool failed = false;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed |= !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  if (failed) throw Failure{"a rank failed"};
}

}  // namespace jitc::test

int main(int count, char** arguments) {
  using namespace jitc::test;
  if (count == 2 && std::string(arguments[1]) == "--list") {
    for (const auto& [name, body] : cases()) std::cout << name << "\n";
    return 0;
  }
  int failures = 0;
  for (int i = 1; i < count; ++i) {
    const auto found = cases().find(arguments[i]);
    failures += found == cases().end() ? 1 : run_one(arguments[i], found->second);
  }
  return failures || count < 2;
}

// See rank.h. Every case ends with a look at the stub: nothing forbidden was called, nothing is left.
#include "rank.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace jitc::test {
namespace {
const Around kOnAFreshStub([](const std::function<void()>& body) {
  alarm(2 * kLimitSeconds);
  stub_reset();
  try {
    body();
  } catch (const cuda::OpError& error) {
    throw Failure{error.message};
  } catch (const cuda::Abandoned&) {
    throw Failure{"abandoned"};
  }
  CHECK_EQUAL(stub_count("violations"), 0);
  CHECK_EQUAL(stub_count("live"), 0);
});
}  // namespace

void await(const char* what, const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kLimitSeconds);
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) throw Failure{std::string("timed out: ") + what};
    std::this_thread::yield();
  }
}

Segments::~Segments() { renew(); }

void Segments::renew() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, file] : files_) close(file);
  files_.clear();
}

CommunicatorSegment Segments::join(const std::array<uint8_t, 128>& id, uint32_t ranks, uint32_t) {
  const std::lock_guard lock(mutex_);
  ++asked_;
  CommunicatorSegment segment;
  segment.superseded = id[0] == 0xfe;
  segment.bytes = cuda::NcclBootstrap::bytes(ranks);
  segment.status = 999;
  segment.error = "nobody knows this communicator";
  if (id[0] >= 0xfe) return segment;
  const auto [found, fresh] = files_.try_emplace(id, -1);
  if (fresh) found->second = memfd_create("jitc-test", 0);
  if (fresh && ftruncate(found->second, static_cast<off_t>(segment.bytes)) != 0) throw Failure{"memfd"};
  segment.file = std::make_shared<OpenFile>(dup(found->second));
  return segment;
}

void Segments::absent(const std::array<uint8_t, 128>& id, uint32_t rank, const std::string& why) {
  const std::lock_guard lock(mutex_);
  std::string error;
  if (!device::mark_absent("/proc/self/fd/" + std::to_string(files_.at(id)), rank, why, error))
    throw Failure{error};
}

std::array<uint8_t, 128> unique_id(uint8_t value) {
  std::array<uint8_t, 128> id{};
  id.fill(value);
  return id;
}

Rank::Rank(Segments& segments, double hang_seconds, bool library)
    : communicators(std::make_unique<Communicators>(library ? JITC_STUB_NCCL : "", sink, segments, *this,
                                                    hang_seconds)) {}
Rank::~Rank() { communicators.reset(); }

uint64_t Rank::create(uint64_t handle, uint8_t id, int ranks, int rank) {
  ops::CommunicatorCreate op;
  op.handle = handle;
  op.ranks = ranks;
  op.rank = rank;
  op.unique_id = unique_id(id);
  communicators->create(next(op));
  return sequence_;
}

uint64_t Rank::split(uint64_t parent, uint64_t handle, int color, int key) {
  ops::CommunicatorSplit op;
  op.parent = parent;
  op.handle = handle;
  op.color = color;
  op.key = key;
  communicators->split(next(op));
  return sequence_;
}

void Rank::destroy(uint64_t handle) {
  ops::CommunicatorDestroy op;
  op.handle = handle;
  communicators->destroy(next(op));
}

void Rank::collective(const std::vector<CollectiveItem>& items) {
  ops::Collective op = next(ops::Collective{});
  op.count = items.size();
  op.header.size = static_cast<uint32_t>(sizeof op + items.size() * sizeof(CollectiveItem));
  std::vector<uint64_t> record(op.header.size / 8);
  std::memcpy(record.data(), &op, sizeof op);
  std::copy(items.begin(), items.end(),
            reinterpret_cast<CollectiveItem*>(reinterpret_cast<std::byte*>(record.data()) + sizeof op));
  communicators->collective(*reinterpret_cast<const ops::Collective*>(record.data()), nullptr);
}

void Rank::restore(const std::vector<Identity>& wanted) {
  CHECK(fence());
  communicators->restore(wanted);
  communicators->resume();
}

void Rank::communicator_fault(uint64_t sequence, uint32_t status, const char* cause,
                              const std::string& message) {
  sink.fault(sequence, status, cause, message);
}

CollectiveItem item(uint64_t comm, CollectiveKind kind, uint32_t dtype, uint64_t count, int32_t peer) {
  CollectiveItem made;
  made.comm = comm;
  made.kind = static_cast<uint32_t>(kind);
  made.dtype = dtype;
  made.reduction = 0;
  made.peer = peer;
  made.count = count;
  made.send = Rank::kBase;
  made.receive = Rank::kBase + 0x8000;
  made.scale = 1;
  made.scale_address = 0;
  return made;
}

std::optional<cuda::OpError> refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const cuda::OpError& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace jitc::test

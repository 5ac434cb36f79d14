// The session layer's interface without a service: records what the API layer submits, and carries out enough
// of it (memory, results) to answer. Driven by the jitc_fake_* functions from pytest.
//
// Linked with the API layer into libjitc_interpose_fake.so; never shipped.
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "jitc/generated_op_traits.h"
#include "jitc/shared_steps.h"
#include "session/phase.h"
#include "session/service/node.h"
#include "session/steps.h"
#include "standin_dnn.h"
#include "standin_kernels.h"

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

using namespace jitc;
using session::GpuInfo;
using session::Result;

/// Where memory lies. With JITC_TEST_BASE it is for ThreadSanitizer, which has room only in the lowest 512
/// GiB.
struct Places {
  uint64_t base = 0x200000000000, bytes = uint64_t{1} << 38, pinned = 0x380000000000;
};
const Places& places() {
  static const Places out = std::getenv("JITC_TEST_BASE")
                                ? Places{uint64_t{1} << 36, uint64_t{1} << 36, uint64_t{7} << 36}
                                : Places{};
  return out;
}
constexpr uint64_t kMemory = 1u << 30, kPinnedBytes = 8u << 20;

struct Controls {
  bool hold = false;                         // nothing is executed before the next wait
  uint32_t over = 0;                         // the session's error
  std::map<uint16_t, uint32_t> next_status;  // op id -> status of its next result
  std::mutex recording;                      // recorded
  std::vector<std::byte> recorded;
  bool forked = false;
  uint32_t lt_status = 0;  // cublasStatus_t of the next heuristics
};
Controls& controls() {
  static auto& out = *new Controls;
  return out;
}

struct Later {
  std::vector<std::byte> record;
  bool wait;
  session::Session::Receiver receiver;
  void* context;
};

class FakeSession final : public session::Session {
 public:
  explicit FakeSession(uint32_t gpu) : gpu_(gpu) {
    // Of GPU 1 only, so that both paths can be taken.
    const char* const path = std::getenv("JITC_FAKE_PINNED");
    const char* const kind = std::getenv("JITC_FAKE_KIND");
    const uint64_t base = places().pinned + (kind ? kPinnedBytes : 0);  // both kinds may be in one process
    if (gpu == 1 && path)
      pinned_ = {::open(path, O_RDWR | O_CLOEXEC), std::string(32, 'f'), base, kPinnedBytes};
  }
  bool executed(uint64_t, uint64_t sequence) const override { return sequence <= executed_; }
  bool find_executed(uint64_t stream, uint64_t sequence, Wait wait) override {
    if (wait == Wait::no && !controls().hold) run_all();
    return executed(stream, sequence);
  }
  bool find_all_executed() override {
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(last_, [this](const auto& one) { return one.second <= executed_; });
  }
  bool acknowledged(uint64_t sequence, Wait wait) override {
    if (wait == Wait::yes) run_all();  // it keeps no bytes before that
    return executed_ >= sequence;
  }
  uint64_t last_submitted(uint64_t stream) const override {
    const std::lock_guard lock(mutex_);
    const auto found = last_.find(stream);
    return found == last_.end() ? 0 : found->second;
  }
  uint32_t status() const override { return controls().over; }
  uint32_t gpu() const override { return gpu_; }
  uint64_t address_base() const override { return places().base + gpu_ * places().bytes; }
  uint64_t address_bytes() const override { return places().bytes; }
  const session::PinnedRegion& pinned() const override { return pinned_; }

 protected:
  uint64_t append(ops::OpHeader* op, size_t size, std::span<const std::byte> payload, bool wait,
                  Receiver receiver, void* context) override {
    const std::lock_guard lock(mutex_);
    if (controls().over || size + payload.size() > ops::kMaximumRecord) return 0;
    op->size = static_cast<uint32_t>((size + payload.size() + 7) / 8 * 8);
    op->flags = static_cast<uint16_t>((op->flags & ops::kFlagOtherThread) | (wait ? ops::kFlagWait : 0));
    op->sequence = ++sequence_;
    if (ops::traits(static_cast<ops::OpId>(op->op)).on_stream) last_[op->stream] = op->sequence;
    std::vector<std::byte> record(op->size);
    std::memcpy(record.data(), op, size);
    if (!payload.empty()) std::memcpy(record.data() + size, payload.data(), payload.size());
    {
      const std::lock_guard recording(controls().recording);
      controls().recorded.insert(controls().recorded.end(), record.begin(), record.end());
    }
    later_.push_back({std::move(record), wait, receiver, context});
    return op->sequence;
  }
  Result append_and_wait(ops::OpHeader* op, size_t size, std::span<const std::byte> payload) override {
    const std::lock_guard lock(mutex_);
    if (!append(op, size, payload, true, nullptr, nullptr)) return {controls().over, {}};
    return run_all();
  }

 private:
  template <class Op>
  static const Op& as(const std::vector<std::byte>& record) {
    return *reinterpret_cast<const Op*>(record.data());
  }

  Result run_all() {
    const std::lock_guard lock(mutex_);
    Result last;
    for (auto& later : std::exchange(later_, {})) {
      last = run(later.record);
      executed_ = reinterpret_cast<const ops::OpHeader*>(later.record.data())->sequence;
      if (later.receiver) later.receiver(later.context, last.status, last.payload);
    }
    return last;
  }

  Result run(const std::vector<std::byte>& record) {
    const auto id = reinterpret_cast<const ops::OpHeader*>(record.data())->op;
    Result out;
    if (const auto planned = controls().next_status.find(id); planned != controls().next_status.end()) {
      out.status = planned->second;
      controls().next_status.erase(planned);
      const auto op = static_cast<ops::OpId>(id);
      if (op == ops::OpId::communicator_create || op == ops::OpId::communicator_split) {
        const std::string why = "rank 1 is gone";
        const auto bytes = std::as_bytes(std::span(why));
        out.payload.assign(bytes.begin(), bytes.end());
      }
      return out;
    }
    if (kernels_.answer(record, memory_, out) || fake_dnn::answer(record, out)) return out;
    switch (static_cast<ops::OpId>(id)) {
      case ops::OpId::allocate:
        memory_[as<ops::Allocate>(record).address].resize(as<ops::Allocate>(record).bytes);
        break;
      case ops::OpId::memory_hold:
        held_[as<ops::MemoryHold>(record).handle] = as<ops::MemoryHold>(record).bytes;
        break;
      case ops::OpId::memory_map:
        grow(as<ops::MemoryMap>(record).address, held_.at(as<ops::MemoryMap>(record).handle));
        break;
      case ops::OpId::free:
        memory_.erase(as<ops::Free>(record).address);
        break;
      case ops::OpId::copy_h2d: {
        const auto& op = as<ops::CopyH2d>(record);
        std::memcpy(at(op.address), record.data() + sizeof op, op.bytes);
        break;
      }
      case ops::OpId::copy_d2h: {
        const auto& op = as<ops::CopyD2h>(record);
        out.payload.assign(at(op.address), at(op.address) + op.bytes);
        break;
      }
      case ops::OpId::copy_h2d_pinned: {
        const auto& op = as<ops::CopyH2dPinned>(record);
        std::memcpy(at(op.address), reinterpret_cast<const void*>(op.source), op.bytes);
        break;
      }
      case ops::OpId::copy_d2h_pinned: {
        const auto& op = as<ops::CopyD2hPinned>(record);
        std::memcpy(reinterpret_cast<void*>(op.destination), at(op.address), op.bytes);
        break;
      }
      case ops::OpId::copy_d2d: {
        const auto& op = as<ops::CopyD2d>(record);
        std::memmove(at(op.destination), at(op.source), op.bytes);
        break;
      }
      case ops::OpId::fill: {
        const auto& op = as<ops::Fill>(record);
        std::memset(at(op.address), static_cast<int>(op.value), op.bytes);
        break;
      }
      case ops::OpId::memory_info: {
        const uint64_t numbers[] = {kMemory / 2, kMemory};
        out.payload.assign(reinterpret_cast<const std::byte*>(numbers),
                           reinterpret_cast<const std::byte*>(numbers + 2));
        break;
      }
      case ops::OpId::event_elapsed: {
        const float milliseconds = 1.5f;
        out.payload.assign(reinterpret_cast<const std::byte*>(&milliseconds),
                           reinterpret_cast<const std::byte*>(&milliseconds + 1));
        break;
      }
      case ops::OpId::communicator_split: {
        const int32_t numbers[] = {2, 1};
        out.payload.assign(reinterpret_cast<const std::byte*>(numbers),
                           reinterpret_cast<const std::byte*>(numbers + 2));
        break;
      }
      case ops::OpId::library_ask:
        out.payload = heuristic(as<ops::LibraryAsk>(record));
        break;
      case ops::OpId::operator_query:  // echoes the call
        out.payload.assign(record.begin() + sizeof(ops::OperatorQuery), record.end());
        break;
      default:
        break;
    }
    return out;
  }

  /// Status, zero, and what cublasLtMatmulAlgoGetHeuristic answers: as many results of 96 bytes as requested,
  /// of which two at most are there, and their number. Byte i of result r is 16 * r + i.
  static std::vector<std::byte> heuristic(const ops::LibraryAsk& op) {
    const uint32_t head[] = {controls().lt_status, 0};
    std::vector<std::byte> out(sizeof head);
    std::memcpy(out.data(), head, sizeof head);
    if (head[0]) return out;
    constexpr size_t kObjects = 6, kResult = 96;
    ops::CallSlot slot;  // behind the objects: how many are requested
    const auto* const call = reinterpret_cast<const std::byte*>(&op + 1) + op.described;
    std::memcpy(&slot, call + sizeof(ops::CallHead) + kObjects * sizeof slot, sizeof slot);
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(slot.value, 2));
    out.resize(sizeof head + slot.value * kResult + sizeof count);
    for (size_t i = 0; i < count * kResult; ++i)
      out[sizeof head + i] = static_cast<std::byte>(i / kResult * 16 + i % kResult);
    std::memcpy(out.data() + out.size() - sizeof count, &count, sizeof count);
    return out;
  }

  /// Mapped memory that follows other memory becomes part of it, so that ranges over both can be copied.
  void grow(uint64_t address, uint64_t bytes) {
    auto after = memory_.upper_bound(address);
    const bool follows =
        after != memory_.begin() && std::prev(after)->first + std::prev(after)->second.size() >= address;
    if (!follows) after = std::next(memory_.try_emplace(address).first);
    auto& [start, content] = *std::prev(after);
    content.resize(std::max<size_t>(content.size(), address - start + bytes));
  }

  std::byte* at(uint64_t address) {
    auto after = memory_.upper_bound(address);
    if (after == memory_.begin()) std::abort();  // the API layer let a bad address through
    auto& [start, bytes] = *std::prev(after);
    if (address - start >= bytes.size()) std::abort();
    return bytes.data() + (address - start);
  }

  uint32_t gpu_;
  session::PinnedRegion pinned_;
  mutable std::recursive_mutex mutex_;
  uint64_t sequence_ = 0;
  std::atomic<uint64_t> executed_{0};
  std::map<uint64_t, uint64_t> last_;
  std::vector<Later> later_;
  FakeKernels::Memory memory_;
  std::map<uint64_t, uint64_t> held_;  // handle to bytes
  FakeKernels kernels_;
};

/// Some of what a driver says, by CUdevice_attribute; managed memory (83) is not to be passed on.
std::map<int32_t, int32_t> attributes(uint32_t gpu) {
  return {{1, 1024},       {2, 1024},
          {3, 1024},       {4, 64},
          {5, 2147483647}, {6, 65535},
          {7, 65535},      {8, 49152},
          {10, 32},        {13, 1980000},
          {16, 132},       {22, 131072},
          {23, 65536},     {33, static_cast<int32_t>(gpu) + 0x40},
          {34, 3},         {39, 2048},
          {50, 1},         {75, 9},
          {76, 0},         {81, 233472},
          {83, 1},         {95, 1},
          {97, 232448},    {120, 1}};
}

class FakeNode final : public session::Node {
 public:
  FakeNode() {
    const char* count = std::getenv("JITC_FAKE_GPUS");
    for (uint32_t i = 0; i < static_cast<uint32_t>(count ? std::atoi(count) : 2); ++i) {
      GpuInfo gpu;
      gpu.index = i;
      const char* kind = std::getenv("JITC_FAKE_KIND");
      gpu.device = kind ? kind : "software";
      gpu.runs_kernels = gpu.device == "cuda";
      if (gpu.runs_kernels) gpu.attributes = attributes(i);
      gpu.cudnn = gpu.runs_kernels;
      gpu.name = "jitc software device";
      gpu.uuid = std::string("0123456789abcdef0123456789abcde") + std::to_string(i);
      gpu.memory_total = kMemory;
      gpu.capability_major = 9;
      gpu.multiprocessors = 4;
      gpus_.push_back(gpu);
      sessions_.push_back(nullptr);
    }
  }
  const std::vector<GpuInfo>& gpus() override { return gpus_; }
  session::Session* session(uint32_t gpu, bool create, uint32_t* error) override {
    if (gpu >= gpus_.size()) return *error = 101, nullptr;
    if (sessions_[gpu] || !create) return sessions_[gpu];
    auto* session = new FakeSession(gpu);
    const std::lock_guard lock(session::Steps::instance().mutex);
    session::Steps::instance().enter(*session);
    return sessions_[gpu] = session;
  }
  session::Session* owner(uint64_t address) override {
    const uint64_t slot = (address - places().base) / places().bytes;
    return address >= places().base && slot < sessions_.size() ? sessions_[slot] : nullptr;
  }
  std::vector<session::Session*> sessions() override {
    std::vector<session::Session*> out;
    for (auto* session : sessions_)
      if (session) out.push_back(session);
    return out;
  }
  bool forked() const override { return controls().forked; }

 private:
  std::vector<GpuInfo> gpus_;
  std::vector<FakeSession*> sessions_;
};

thread_local int phase = 0;

}  // namespace

namespace jitc::session {
Node& Node::instance() {
  static auto& node = *new FakeNode;
  return node;
}
void set_phase(ops::Phase to) { phase = static_cast<int>(to); }
void set_phase_source(int (*source)()) { phase = source ? source() : 0; }
}  // namespace jitc::session

/// Moves what was recorded since the last call into out; returns the bytes, or the need when out is too
/// small.
FAKE_API size_t jitc_fake_take(void* out, size_t capacity) {
  const std::lock_guard recording(controls().recording);
  auto& recorded = controls().recorded;
  const size_t size = recorded.size();
  if (size > capacity) return size;
  if (size) std::memcpy(out, recorded.data(), size);
  recorded.clear();
  return size;
}
FAKE_API void jitc_fake_hold(int on) { controls().hold = on; }
FAKE_API void jitc_fake_over(uint32_t status) { controls().over = status; }
FAKE_API void jitc_fake_forked(int on) { controls().forked = on; }
FAKE_API void jitc_fake_next_status(uint32_t op, uint32_t status) {
  controls().next_status[static_cast<uint16_t>(op)] = status;
}
FAKE_API void jitc_fake_lt_status(uint32_t status) { controls().lt_status = status; }
FAKE_API int jitc_fake_phase(void) { return phase; }

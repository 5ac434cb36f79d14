// For tests of back ends: a sink that remembers, and a client that builds ops and gives them to a back end.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/shuffle.h"
#include "cases.h"
#include "device/backend.h"
#include "device/backend_options.h"
#include "device/progress_doorbell.h"
#include "device/services.h"
#include "device/sink.h"

namespace jitc::test {

struct Reply {
  uint32_t status;
  std::vector<std::byte> payload;
  std::string text() const { return {reinterpret_cast<const char*>(payload.data()), payload.size()}; }
  std::vector<uint8_t> bytes() const {
    const auto* const first = reinterpret_cast<const uint8_t*>(payload.data());
    return {first, first + payload.size()};
  }
  template <class T>
  T value(size_t at = 0) const {
    T result;
    if (at + sizeof(T) > payload.size()) throw Failure{"result too short: " + text()};
    std::memcpy(&result, payload.data() + at, sizeof(T));
    return result;
  }
};

class Sink final : public ExecutionSink {
 public:
  struct Fault {
    uint64_t sequence;
    uint32_t status;
    std::string cause, message;
  };
  void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) override;
  void progress(uint64_t stream, uint64_t sequence) override;
  void fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) override;
  void injection_point(const ops::OpHeader& op, std::string_view phase) override;
  bool delivered(uint64_t sequence) const override { return sequence == known; }
  ProgressDoorbell& progress_doorbell() override { return doorbell_; }
  void race(const Race& race) override;
  std::vector<Race> races();
  std::atomic<uint64_t> known{0};  // the op whose result the program has already

  /// Wait with a time limit; throw Failure when it passes.
  Reply wait_result(uint64_t sequence);
  void wait_progress(uint64_t stream, uint64_t sequence);
  Fault wait_fault();
  bool has_result(uint64_t sequence);
  uint64_t progress_of(uint64_t stream);
  std::vector<Fault> faults();
  /// The ops will come again.
  void forget();
  /// Ops in the order in which their results came.
  std::vector<uint64_t> results();
  /// Called with each result once it is there, by the thread that brings it.
  std::function<void(uint64_t sequence)> on_result;
  /// Called with how far a stream has got before that is noted, by the thread that tells it.
  std::function<void(uint64_t sequence)> on_progress;
  /// Called at injection points, from the stream's thread.
  std::function<void(const ops::OpHeader&, std::string_view)> on_injection;

 private:
  ProgressDoorbell doorbell_{nullptr};
  void wait(const char* what, const std::function<bool()>& done);
  std::mutex mutex_;
  std::condition_variable condition_;
  std::map<uint64_t, Reply> results_;
  std::vector<uint64_t> order_;
  std::map<uint64_t, uint64_t> progress_;
  std::vector<Fault> faults_;
  std::vector<Race> races_;
};

/// Something that streams can be held up with: an injection point that waits.
class Gate {
 public:
  void open();
  void pass();  // waits until open

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool open_ = false;
};

/// By the seed in JITC_TEST_SHUFFLE; without it nothing is put off. Any case must hold with any seed.
Shuffle shuffle_of_environment(double hang_seconds = 0);

extern const uint64_t kBase;
constexpr uint64_t kBlock = 2u << 20;
/// Bytes of which none is like its neighbours.
std::vector<uint8_t> pattern(size_t bytes);
constexpr uint64_t kRange = uint64_t{8} << 30;

/// Memory as program and worker share it: at an address of its own, beside the sessions' ranges.
class PinnedMap {
 public:
  static constexpr uint64_t kBytes = 4u << 20;
  PinnedMap();
  ~PinnedMap();
  PinnedMap(const PinnedMap&) = delete;
  PinnedMap& operator=(const PinnedMap&) = delete;
  const PinnedRange range;
  std::string text(uint64_t at, size_t bytes) const { return {pointer(at), bytes}; }
  void write(uint64_t at, std::string_view text) { std::memcpy(pointer(at), text.data(), text.size()); }

 private:
  char* pointer(uint64_t at) const { return reinterpret_cast<char*>(range.base + at); }
};

/// For sessions without kernels.
class NoImages final : public ImageSource {
 public:
  std::span<const std::byte> image(const ImageHash&, uint64_t, std::string& error) override {
    error = "no images here";
    return {};
  }
};

/// A session: a back end (made by whoever derives), its sink, and the ops it was given.
class Client {
 public:
  explicit Client(uint64_t slot = 0) : base(kBase + slot * kRange), next_(base) {}
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Fills in the header and gives the op to the device; returns its sequence.
  template <class Op>
  uint64_t give(Op op, uint64_t stream = 0, const void* payload = nullptr, size_t bytes = 0) {
    return give_record(&op, sizeof op, static_cast<uint16_t>(Op::kId), stream, payload, bytes);
  }
  uint64_t give_record(const void* op, size_t fixed, uint16_t id, uint64_t stream, const void* payload,
                       size_t bytes);
  template <class Op>
  Reply ask(Op op, uint64_t stream = 0) {
    return sink.wait_result(give(op, stream));
  }
  /// The op as it was given last.
  std::vector<std::byte> record_of(uint64_t sequence);
  uint64_t allocate(uint64_t bytes);  // at the next free address
  template <class T>
  uint64_t upload(const std::vector<T>& values) {
    const uint64_t bytes = values.size() * sizeof(T);
    const uint64_t address = allocate(bytes ? bytes : 1);
    if (bytes && !backend->write(address, std::as_bytes(std::span(values)))) throw Failure{"write"};
    return address;
  }
  template <class T>
  std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> values(count);
    if (count && !backend->read(address, std::as_writable_bytes(std::span(values)))) throw Failure{"read"};
    return values;
  }
  /// kNoHash: not allocated.
  Hash hash(uint64_t address, uint64_t bytes) {
    const MemoryRange range{address, bytes};
    Hash out{};
    backend->hash_all({&range, 1}, {&out, 1});
    return out;
  }
  void synchronize() { CHECK_EQUAL(ask(ops::DeviceSynchronize{}).status, 0u); }

  Sink sink;
  std::unique_ptr<Backend> backend;
  uint64_t base;

 protected:
  uint64_t sequence_ = 0;

 private:
  std::mutex mutex_;
  std::deque<std::vector<uint64_t>> records_;  // stay until the device is gone
  uint64_t next_;
};

}  // namespace jitc::test

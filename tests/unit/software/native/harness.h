// Test toolkit for the software device: a sink that remembers, a client that builds ops, cases by name.
#pragma once
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/backend.h"

namespace jitc::test {

struct Failure {
  std::string message;
};

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition))                                                                                      \
      throw ::jitc::test::Failure{std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition}; \
  } while (false)
#define CHECK_EQUAL(a, b)                                                                     \
  do {                                                                                        \
    const auto left = (a);                                                                    \
    const auto right = (b);                                                                   \
    if (!(left == right)) {                                                                   \
      std::ostringstream text;                                                                \
      text << __FILE__ ":" << __LINE__ << ": " #a " == " #b ": " << left << " and " << right; \
      throw ::jitc::test::Failure{text.str()};                                                \
    }                                                                                         \
  } while (false)

struct Reply {
  uint32_t status;
  std::vector<std::byte> payload;
  std::string text() const { return {reinterpret_cast<const char*>(payload.data()), payload.size()}; }
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

  /// Wait with a time limit; throw Failure when it passes.
  Reply wait_result(uint64_t sequence);
  void wait_progress(uint64_t stream, uint64_t sequence);
  Fault wait_fault();
  bool has_result(uint64_t sequence);
  uint64_t progress_of(uint64_t stream);
  std::vector<Fault> faults();
  /// Called at injection points, from the stream's thread.
  std::function<void(const ops::OpHeader&, std::string_view)> on_injection;

 private:
  void wait(const char* what, const std::function<bool()>& done);
  std::mutex mutex_;
  std::condition_variable condition_;
  std::map<uint64_t, Reply> results_;
  std::map<uint64_t, uint64_t> progress_;
  std::vector<Fault> faults_;
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

/// Hands out segments by unique id and epoch: memory files of the process that made it, inherited by fork.
class Segments final : public Rendezvous {
 public:
  std::string join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks, uint32_t rank, uint64_t& bytes,
                   std::string& error) override;
  /// Must be made before fork for every communicator that the children use.
  void make(const std::array<uint8_t, 128>& unique_id, uint32_t ranks);
  /// For ids that nobody knows before: spare segments, taken by the first who asks, found again through a
  /// shared table.
  void make_spares(uint32_t ranks, size_t count);

 private:
  struct Entry {
    std::array<uint8_t, 128> id;
    uint32_t used;
  };
  std::map<std::array<uint8_t, 128>, std::string> known_;
  std::vector<std::string> spares_;
  Entry* table_ = nullptr;
  std::atomic<uint32_t>* lock_ = nullptr;
};

std::array<uint8_t, 128> unique_id(uint8_t value);

extern const uint64_t kBase;
constexpr uint64_t kBlock = 2u << 20;

/// A session: device, sink, and the ops it was given.
class Session {
 public:
  explicit Session(Rendezvous* rendezvous = nullptr, uint64_t slot = 0, uint64_t limit = 1u << 30,
                   const std::string& operators = "");
  ~Session();

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
  void synchronize() { CHECK_EQUAL(ask(ops::DeviceSynchronize{}).status, 0u); }
  uint64_t communicator(uint8_t id, int ranks, int rank, uint64_t handle = 0x500);

  Segments no_segments;
  Sink sink;
  std::unique_ptr<Backend> backend;
  uint64_t base;

 private:
  std::mutex mutex_;
  std::deque<std::vector<uint64_t>> records_;  // stay until the device is gone
  uint64_t sequence_ = 0;
  uint64_t next_;
};

/// Registers a case; its name is what the test program is called with.
struct Case {
  Case(const char* name, std::function<void()> run);
};
#define CASE(name)                                          \
  static void name();                                       \
  static const ::jitc::test::Case case_##name(#name, name); \
  static void name()

/// Runs body(rank) in one process per rank; throws when one fails or takes too long.
void run_ranks(int ranks, const std::function<void(int rank)>& body);

}  // namespace jitc::test

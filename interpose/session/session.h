// The process's side of one session: the API layer hands ops in, results come out.
//
// Called by the API layer (client_api.cpp included). Promises: ops of all threads form one ordered stream per
// session with gapless sequence numbers; nothing is lost when the worker dies (unacknowledged ops are
// kept and sent again); a full pipe blocks submit instead of growing; no lock is held across a wait; no
// exception leaves; after fork every call in the child returns kInitializationError without touching
// the parent's connection. A session's address range and handles stay the same for its whole life.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "jitc/generated_ops.h"

namespace jitc::runtime {

inline constexpr uint32_t kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInitializationError = 3,
                          kNoDevice = 100, kInvalidDevice = 101, kInvalidHandle = 400, kNotReady = 600,
                          kNotSupported = 801, kUnknown = 999;

struct Result {
  uint32_t status = kSuccess;
  std::vector<std::byte> payload;
};

/// Memory that the worker shares with this process: a sealed file that starts with the token, and where both
/// map it.
struct PinnedPlace {
  std::string path;  // empty: there is none
  std::string token;
  uint64_t base = 0, bytes = 0;
};

class Session {
 public:
  /// Receives the result of an op that nobody waits for (device-to-host copy to pinned memory). Called
  /// once, by whichever thread drives the I/O, before any later progress is visible. Must not block.
  using Receiver = void (*)(void* context, uint32_t status, std::span<const std::byte> payload);

  virtual ~Session() = default;
  /// Appends an op (stream set by the caller; size, id, phase and sequence are filled in) and its
  /// payload (copied). Returns the sequence, or 0 when the session is over (see status()). Blocks only
  /// for back-pressure.
  template <class Op>
  uint64_t submit(Op op, std::span<const std::byte> payload = {}) {
    op.header.op = static_cast<uint16_t>(Op::kId);
    return append(&op.header, sizeof(Op), payload, false, nullptr, nullptr);
  }
  template <class Op>
  uint64_t submit_receiving(Op op, Receiver receiver, void* context,
                            std::span<const std::byte> payload = {}) {
    op.header.op = static_cast<uint16_t>(Op::kId);
    return append(&op.header, sizeof(Op), payload, true, receiver, context);
  }
  /// Submits and waits for the result.
  template <class Op>
  Result call(Op op, std::span<const std::byte> payload = {}) {
    op.header.op = static_cast<uint16_t>(Op::kId);
    return append_and_wait(&op.header, sizeof(Op), payload);
  }

  /// Whether the stream has executed everything up to sequence, as far as is known without asking.
  virtual bool executed(uint64_t stream, uint64_t sequence) const = 0;
  /// Takes in what has arrived, without waiting, and makes sure that what is queued is on its way.
  virtual void poll() = 0;
  /// Sequence of the last op that was submitted to the stream (0: none).
  virtual uint64_t last_submitted(uint64_t stream) const = 0;
  /// 0, or the error that ended the session (every later call returns it).
  virtual uint32_t status() const = 0;
  /// The service's index of this GPU, and the session's address range.
  virtual uint32_t gpu() const = 0;
  virtual uint64_t address_base() const = 0;
  virtual uint64_t address_bytes() const = 0;
  virtual const PinnedPlace& pinned() const = 0;

 protected:
  virtual uint64_t append(ops::OpHeader* op, size_t size, std::span<const std::byte> payload, bool wait,
                          Receiver receiver, void* context) = 0;
  virtual Result append_and_wait(ops::OpHeader* op, size_t size, std::span<const std::byte> payload) = 0;
};

/// Optimizer steps of the process, on all its devices together. The mutex is held while a step is told to the
/// sessions and while a session is entered among them: each session sees every step, all in the same order.
struct Steps {
  std::mutex mutex;
  uint64_t begun = 0, passed = 0;
  static Steps& instance() {
    static auto& one = *new Steps;
    return one;
  }
  /// For a session that nobody else can use yet, with the mutex held: it begins with the boundary that the
  /// process passed last, so that a boundary has one number in all sessions of a job, whenever they were
  /// opened.
  void enter(Session& session) const {
    ops::Boundary op;
    op.boundary = passed;
    if (passed) session.submit(op);
  }
};

struct GpuInfo {
  uint32_t index = 0;
  std::string device, name, uuid;
  uint64_t memory_total = 0;
  uint32_t capability_major = 0, capability_minor = 0, multiprocessors = 0;
  std::map<int32_t, int32_t> attributes;  // by CUdevice_attribute; of kind cuda
  bool cudnn = false;                     // the service has libcudnn for it
  bool runs_kernels = false;              // machine code of programs; else operators by name
};

/// The service as this process sees it. Nothing happens before the first call.
class Node {
 public:
  static Node& instance();
  /// The node's GPUs, all of them, in the service's order (asked once). Empty, with one message on
  /// stderr that names the socket and the command that starts the service, when it is not running.
  virtual const std::vector<GpuInfo>& gpus() = 0;
  /// The session on a GPU of the service, opened when create is set; nullptr when there is none (error: why).
  virtual Session* session(uint32_t gpu, bool create, uint32_t* error) = 0;
  /// The session whose address range holds the address, or nullptr. Lock-free.
  virtual Session* owner(uint64_t address) = 0;
  /// All open sessions.
  virtual std::vector<Session*> sessions() = 0;
  /// Phase for ops of the calling thread (client_api.h, jitc_set_phase).
  static void set_phase(ops::Phase phase);
  /// Asked instead, at every op (jitc_set_phase_source).
  static void set_phase_source(int (*source)());
  /// True in a child made by fork after the first session.
  virtual bool forked() const = 0;

 protected:
  ~Node() = default;
};

/// One line on stderr, prefixed "jitc: ", each distinct text once per process.
void message_once(const std::string& text);
/// Text for jitc_last_message() of this thread.
void set_last_message(std::string text);

}  // namespace jitc::runtime

// The back end's side of the waist: executes device ops on one virtual GPU (one session).
//
// The core (journal, dispatcher, boundaries, recovery) calls it from one dispatcher thread; the back
// end calls the sink from any thread. Implementations: software/ (host memory), later cuda/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jitc/generated_ops.h"

namespace jitc {

/// Where a back end reports. All functions may be called from any thread and never block for long.
class ExecutionSink {
 public:
  virtual ~ExecutionSink() = default;
  /// Of an op that waits: its status (cudaError_t or kStatusOperator) and result. Exactly once per execution.
  virtual void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) = 0;
  /// stream has executed everything up to sequence.
  virtual void progress(uint64_t stream, uint64_t sequence) = 0;
  /// The device is unusable from this op on (sticky). The back end executes nothing more until reset.
  virtual void fault(uint64_t sequence, uint32_t status, std::string_view cause,
                     std::string_view message) = 0;
  /// Called at named points so that injected faults can fire there (may not return). phase: "copy",
  /// "collective".
  virtual void injection_point(const ops::OpHeader& op, std::string_view phase) = 0;
};

/// What is alive, with what is needed to make it again. Kept by the core from the resource ops.
struct Resources {
  struct Allocation {
    uint64_t address, bytes, sequence = 0;
  };  // sequence: of its allocate op, 0: unknown
  struct Stream {
    uint64_t handle;
    uint32_t flags;
    int32_t priority;
  };
  struct Event {
    uint64_t handle, flags;
  };
  struct Communicator {
    uint64_t handle;
    int32_t ranks, rank;
    std::array<uint8_t, 128> unique_id;
  };
  std::vector<Allocation> allocations;
  std::vector<Stream> streams;
  std::vector<Event> events;
  std::vector<Communicator> communicators;  // a split one is kept with its derived unique id
};

/// Obtains the shared segment of a communicator (round trip to the node service).
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Path to open, or empty with an error text. epoch: recovery generation.
  virtual std::string join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks, uint32_t rank,
                           uint64_t& bytes, std::string& error) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Takes the next op in sequence order; returns at once (queues it on its stream). The record stays
  /// valid and unchanged until idle() or fence(). Operands are not trusted: a bad handle, address or
  /// size gives a result or fault with the CUDA error, never a crash. Ops that wait give a result;
  /// others give a fault when they fail. allocate is executed in place (out of memory: result 2).
  virtual void enqueue(const ops::OpHeader& op) = 0;
  /// Waits until everything enqueued has run; false when a fence or fault came first.
  virtual bool idle() = 0;
  /// Stops: waits inside ops (events, collectives) are given up, queued ops dropped. When it returns no
  /// thread touches device memory, and none will until unfence().
  virtual void fence() = 0;
  virtual void unfence() = 0;
  /// Makes resources exactly as given (missing ones made again, others released; frees since the last
  /// commit() are undone with their content where the memory is still there). Only while fenced.
  /// Communicators are joined lazily, on their first use after unfence().
  virtual bool restore(const Resources& resources, std::string& error) = 0;
  /// A boundary is committed: memory freed before it may really go.
  virtual void commit() = 0;
  /// Unique id that communicator_split gave to the handle (for Resources); false when unknown.
  virtual bool communicator(uint64_t handle, Resources::Communicator& out) const = 0;
  /// Direct access while idle or fenced; false when the range is not allocated.
  virtual bool read(uint64_t address, std::span<std::byte> out) const = 0;
  virtual bool write(uint64_t address, std::span<const std::byte> data) = 0;
  virtual bool hash(uint64_t address, uint64_t bytes, std::array<uint8_t, 16>& out) const = 0;
  virtual uint64_t memory_used() const = 0;
  virtual uint64_t memory_total() const = 0;
};

struct BackendOptions {
  uint64_t address_base, address_bytes, memory_limit;
  int threads;                 // of one operator; fixed per job so that results do not change
  std::string operators_path;  // libjitc_operators.so or empty
};
std::unique_ptr<Backend> make_software_backend(const BackendOptions&, ExecutionSink&, Rendezvous&,
                                               std::string& error);

}  // namespace jitc

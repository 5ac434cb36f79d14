// What the executor has below it: a back end executes device ops on one virtual GPU (one session).
//
// The core (journal, dispatcher, boundaries, recovery) calls it from one dispatcher thread; the back
// end calls the sink from any thread. Implementations: software/ (host memory), cuda/ (an NVIDIA GPU).
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend_options.h"
#include "base/hash.h"
#include "base/tally.h"
#include "jitc/generated_ops.h"
#include "transfers.h"

namespace jitc {

using ImageHash = std::array<uint8_t, 16>;

/// Two ops of a session that touch the same bytes, one of them writing, with no order between them.
struct Race {
  struct Side {
    std::string name, operator_name, place;  // of the op, of PyTorch's operator, in the program; may be empty
    uint64_t stream = 0, sequence = 0;
    bool writes = false;
  };
  Side first, second;  // as they were given
  uint64_t address = 0, bytes = 0;
};

/// An op that a device has begun and not ended.
struct UnderWay {
  uint64_t sequence = 0;
  bool collective = false;
  uint64_t part = 0;     // changes whenever a collective, or an op that consists of several, gets on
  bool entered = false;  // of a collective: this rank has given its part, and waits for what others give
};

/// Turns at the GPU (decision 67).
struct TurnsTaken {
  uint64_t times = 0, bytes = 0;  // that the memory was moved out, and how much that was together
  double seconds = 0;             // that moving it took, out and in
  bool out = false;               // it is not on the GPU now
};

/// Where a back end reports. All functions may be called from any thread and never block for long.
class ExecutionSink {
 public:
  virtual ~ExecutionSink() = default;
  /// Of an op that waits: its status (cudaError_t or kStatusOperator) and result. Exactly once per execution.
  virtual void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) = 0;
  /// stream has executed everything up to sequence.
  virtual void progress(uint64_t stream, uint64_t sequence) = 0;
  /// Rings when the program begins to wait for progress without an op that asks for it.
  virtual ProgressDoorbell& progress_doorbell() = 0;
  /// The device is unusable from this op on (sticky). The back end executes nothing more until reset.
  virtual void fault(uint64_t sequence, uint32_t status, std::string_view cause,
                     std::string_view message) = 0;
  /// Called at named points so that injected faults can fire there (may not return). phase: "copy",
  /// "collective".
  virtual void injection_point(const ops::OpHeader& op, std::string_view phase) = 0;
  /// The program has the result of the op already, so that it is only compared: memory of the program must
  /// not be written again.
  virtual bool delivered(uint64_t sequence) const = 0;
  /// Of a device that checks the order of ops: each pair of places in the program once.
  virtual void race(const Race&) {}
};

/// What is alive, with what is needed to make it again. Kept by the core from the resource ops.
struct Resources {
  struct Allocation {
    uint64_t address, bytes, sequence = 0;
    /// Whether memory of this place and size, made by that op, is the one that is meant.
    bool is(uint64_t at, uint64_t size, uint64_t born) const {
      return at == address && size == bytes && (sequence == 0 || born == sequence);
    }
  };  // sequence: of the op that made it (allocate, memory_map), 0: unknown
  /// Physical memory that has no address yet.
  struct Held {
    uint64_t handle, bytes;
  };
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
    uint64_t name = 0;  // in the tally
  };
  struct Module {
    uint64_t handle;
    ImageHash hash;
    uint64_t bytes;
  };
  struct Function {
    uint64_t handle, module;
    std::string name;
    std::map<int32_t, int32_t> attributes;  // as set, by CUfunction_attribute
  };
  struct Variable {
    uint64_t module;
    std::string name;
    uint64_t address, bytes;  // the address that the program was told, or an alias (jitc/variable_alias.h)
  };
  /// Of the device, for kernels (CUlimit).
  struct Limit {
    int64_t limit;
    uint64_t value;
  };
  /// What a graph consists of: the ops between capture_begin and capture_end that can be in a graph, on
  /// whatever stream, records as they came; capture_begin is the first, capture_end the last.
  struct Content {
    std::vector<std::vector<std::byte>> ops;
    uint64_t bytes = 0;  // that they take in memory
    ImageHash kept{};    // name of its packed form among the images, zeros: not there
    uint64_t kept_bytes = 0;
    std::vector<ops::CollectiveItem> collectives;  // that a launch does
    void add(std::span<const std::byte> op) {
      ops.emplace_back(op.begin(), op.end());
      bytes += op.size() + sizeof(ops.back());
    }
  };
  using Captured = std::shared_ptr<const Content>;
  struct Graph {
    uint64_t handle;
    Captured ops;
  };
  struct Executable {
    uint64_t handle, flags;
    Captured ops;  // of its graph, which may be gone
  };
  /// A capture that has not ended: its content so far.
  struct Capture {
    uint64_t stream;
    Captured ops;
  };
  /// Pinned memory that kernels may use.
  struct HostRange {
    uint64_t address, bytes;
  };
  struct Blas {
    uint64_t handle;
    int32_t math_mode, pointer_mode, atomics_mode;
    uint64_t workspace, workspace_bytes;
  };
  /// An execution plan of cuDNN, whose description is among the images.
  struct DnnPlan {
    uint64_t handle;
    ImageHash hash;
    uint64_t bytes;
  };
  std::vector<Allocation> allocations;
  std::vector<Stream> streams;
  std::vector<Event> events;
  std::vector<Communicator> communicators;  // a split one is kept with its derived unique id
  std::vector<Module> modules;
  std::vector<Function> functions;
  std::vector<Variable> variables;
  std::vector<Limit> limits;
  std::vector<Graph> graphs;
  std::vector<Executable> executables;
  std::vector<Capture> captures;
  std::vector<Blas> blas;
  std::vector<HostRange> host_ranges;
  std::vector<Held> held;
  std::vector<DnnPlan> dnn_plans;
  Tally tally;  // what the communicators have done until then
};

/// What the result of an abort says (communicator_abort), for its replay.
struct KnownAbort {
  uint64_t handle, sequence;  // of the op
  std::vector<std::byte> outcome;
};

/// Module images that the node keeps (executor/state/images.h).
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  /// The whole image, valid as long as a module of it may have to be loaded; empty with the reason in error.
  virtual std::span<const std::byte> image(const ImageHash& hash, uint64_t bytes, std::string& error) = 0;
};

/// Shared memory in which the ranks of a communicator find each other, in one recovery epoch.
struct CommunicatorSegment {
  std::string path;  // empty: there is none
  uint64_t bytes = 0, identity = 0;
  /// A recovery takes back the op that wanted to join; its fence has come. Nobody is to be told.
  bool superseded = false;
  uint32_t status = 0;  // without path: cudaError_t and text for the program
  std::string error;
};

/// Obtains the segment of a communicator (round trip to the node service).
class CommunicatorSegments {
 public:
  virtual ~CommunicatorSegments() = default;
  virtual CommunicatorSegment join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks,
                                   uint32_t rank) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Takes the next op in sequence order; returns at once (queues it on its stream). The record stays
  /// valid and unchanged until idle() or fence(). Operands are not trusted: a bad handle, address or
  /// size gives a result or fault with the CUDA error, never a crash. Ops that wait give a result;
  /// others give a fault when they fail. Ops that make a resource and wait complete synchronously, that is
  /// before enqueue returns (allocate out of memory: result 2); communicators alone do not.
  virtual void enqueue(const ops::OpHeader& op) = 0;
  /// Nothing more is there to enqueue for now: what has been put off (marks of progress) is due.
  virtual void flush() {}
  /// Waits until everything enqueued has run; false when a fence or fault came first.
  bool idle() { return await_idle(std::nullopt) == Idle::yes; }
  enum class Idle { yes, not_yet, never };
  /// The same, for no longer than this; never: a fence or fault came first.
  virtual Idle await_idle(std::optional<std::chrono::milliseconds> limit) = 0;
  /// Stops: waits inside ops (events, collectives) are given up, queued ops dropped. What runs behind a
  /// collective that is given up works with whatever lies in memory: the sink takes no result from before the
  /// call on until unfence(). When it returns no thread touches device memory, and none will until unfence().
  virtual void fence() = 0;
  virtual void unfence() = 0;
  /// Makes resources exactly as given (missing ones made again, others released; frees since the last
  /// commit() are undone with their content where the memory is still there). Only while fenced.
  /// Communicators are joined lazily, on their first use after unfence().
  virtual bool restore(const Resources& resources, std::string& error) = 0;
  /// What graphs and captures consist of now: a fence may have let them go. While fenced, where nothing is
  /// restored it is all that the device knows of them.
  virtual void remember_graphs(const Resources&) {}
  /// Before unfence(): how the aborts ended that the replay comes to; all ops up to the sequence have run.
  virtual void expect_aborts(const std::vector<KnownAbort>&, uint64_t) {}
  /// The op is in the journal, behind ops that may wait for what it ends: collectives on that communicator
  /// give up waiting now. Any thread, while the device runs.
  virtual void abort_coming(const ops::CommunicatorAbort&) {}
  /// A boundary is committed: memory freed before it may really go.
  virtual void commit() = 0;
  /// Unique id that communicator_split gave to the handle (for Resources); false when unknown.
  virtual bool communicator(uint64_t handle, Resources::Communicator& out) const = 0;
  /// Direct access while idle or fenced; false when the range is not allocated.
  virtual bool read(uint64_t address, std::span<std::byte> out) const = 0;
  /// The same with the content hash of what was read, in one pass over the bytes. While the device runs, too:
  /// whoever knows what should be there can tell.
  virtual bool read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const = 0;
  virtual bool write(uint64_t address, std::span<const std::byte> data) = 0;
  /// By how many threads at once these three are best called.
  virtual int copy_threads() const { return 1; }
  /// Content hashes (content_hash.h) of all ranges, in their order; kNoHash: empty, not allocated, or the
  /// device failed (which it reports). Where the device can, it does it by itself, in one go.
  virtual void hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const = 0;
  /// True where hash_all is the device's own work: then it is cheaper than hashing what was read.
  virtual bool hashes_itself() const { return false; }
  /// Fills ranges with what poisoned memory holds (poison.h). Only while fenced; what is not allocated is
  /// passed over.
  virtual void poison_all(std::span<const MemoryRange> ranges) = 0;
  virtual uint64_t memory_used() const = 0;
  virtual uint64_t memory_total() const = 0;
  /// The oldest op that the device has begun and not ended: whether it gets on is to be seen. Any thread.
  virtual std::optional<UnderWay> under_way() { return std::nullopt; }
  /// Of a session that takes turns at its GPU: how often its memory was moved out, and so on.
  virtual TurnsTaken turns_taken() const { return {}; }
  /// How many blocks are copied to the host at once; null: read() is the way.
  virtual BlockCopier* copier() { return nullptr; }
  /// How blocks move to and from another worker's device without the host; null: they do not.
  virtual const BlockMover* mover() const { return nullptr; }
  /// Why the device cannot be made to fail in this way ("illegal-access", "endless-kernel",
  /// "hung-collective", "cut-link", "slow-link"); empty: it can.
  virtual std::string cannot_inject(std::string_view kind) const {
    return "this device cannot be made to fail by " + std::string(kind);
  }
  /// Makes it fail in this way at the op, which is the next one that it is given. False with the reason.
  virtual bool inject(std::string_view kind, const ops::OpHeader&, std::string& error) {
    error = cannot_inject(kind);
    return false;
  }
};

std::unique_ptr<Backend> make_software_backend(const BackendOptions&, ExecutionSink&, CommunicatorSegments&,
                                               ImageSource&, std::string& error);
/// What sessions on a GPU share, kept open while the pointer lives; nullptr with the reason.
std::shared_ptr<void> open_cuda_gpu(const Libraries& libraries, int ordinal, std::string& error);
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions&, ExecutionSink&, CommunicatorSegments&,
                                           ImageSource&, std::string& error);

}  // namespace jitc

// Resources of a session, with what is needed to recreate each. Part of a boundary, so its layout is
// versioned (executor/journal/record_log.h).
//
// Used by: the executor, which maintains it from the resource ops; the back ends, which restore it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/tally.h"
#include "jitc/generated_ops.h"

namespace jitc {

using ImageHash = std::array<uint8_t, 16>;

/// All live resources, with what is needed to recreate them. The core maintains it from the resource ops.
struct Resources {
  struct Allocation {
    uint64_t address, bytes, sequence = 0;
    /// Returns whether it has this address and size and was made by that op.
    bool is(uint64_t at, uint64_t size, uint64_t born) const {
      return at == address && size == bytes && (sequence == 0 || born == sequence);
    }
  };  // sequence: of the op that made it (allocate, memory_map), 0: unknown
  /// Physical memory without an address.
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
    uint64_t address, bytes;  // the address known to the program, or an alias (jitc/variable_alias.h)
  };
  /// Limit of the device for kernels (CUlimit).
  struct Limit {
    int64_t limit;
    uint64_t value;
  };
  /// Content of a graph: the ops from capture_begin to capture_end, which both are included, that can be in a
  /// graph, on any stream, as the original records.
  struct Content {
    std::vector<std::vector<std::byte>> ops;
    uint64_t bytes = 0;  // that they take in memory
    ImageHash kept{};    // name of its packed form among the images, zeros: not there
    uint64_t kept_bytes = 0;
    std::vector<ops::CollectiveItem> collectives;  // by one launch
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
    Captured ops;  // of its graph, which may be destroyed
  };
  /// Capture that has not ended: its content so far.
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
  /// Execution plan of cuDNN, whose description is among the images.
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
  Tally tally;  // of what the communicators have done so far
};

}  // namespace jitc

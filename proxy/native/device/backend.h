// Interface between the executor and a back end, which executes device ops on one virtual GPU (one session).
//
// The executor calls it from one dispatcher thread; the back end calls the sink from any thread.
// Implementations: software/ (host memory), cuda/ (an NVIDIA GPU); devices.h makes them.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "aspects.h"
#include "device_memory.h"
#include "jitc/generated_ops.h"
#include "resources.h"

namespace jitc {

class Backend : public DeviceMemory {
 public:
  /// Accepts the next op in sequence order; returns at once (queues it on its stream). The record stays valid
  /// and unchanged until idle() or fence(). Operands are not trusted: a bad handle, address or size gives a
  /// result or fault with the CUDA error, never a crash. Ops that wait give a result; others give a fault
  /// when they fail. Ops that make a resource and wait complete synchronously, that is before enqueue returns
  /// (allocate out of memory: result 2); communicators alone do not.
  virtual void enqueue(const ops::OpHeader& op) = 0;
  /// Submits deferred progress marks: no more ops are ready.
  virtual void flush() {}
  /// Waits until everything enqueued has run; false when a fence or fault came first.
  bool idle() { return await_idle(std::nullopt) == Idle::yes; }
  enum class Idle { yes, not_yet, never };
  /// Does the same with a time limit; never: a fence or fault came first.
  virtual Idle await_idle(std::optional<std::chrono::milliseconds> limit) = 0;
  /// Stops the device: gives up waits inside ops (events, collectives), drops queued ops. Work behind a
  /// collective that is given up reads undefined memory: the sink takes no result from the start of the call
  /// until unfence(). When it returns no thread touches device memory, and none will until unfence().
  virtual void fence() = 0;
  virtual void unfence() = 0;
  /// Makes resources exactly as given (recreates missing ones, releases others; undoes frees since the last
  /// commit(), with their content where the memory still exists). Requires a fenced device. Communicators are
  /// joined lazily, on their first use after unfence().
  virtual bool restore(const Resources& resources, std::string& error) = 0;
  /// Commits a boundary: memory freed before it may be released.
  virtual void commit() = 0;
  /// Returns the unique id that communicator_split gave to the handle (for Resources); false when unknown.
  virtual bool communicator(uint64_t handle, Resources::Communicator& out) const = 0;

  // Aspects of the device; null: it lacks that one.
  virtual Activity* activity() { return nullptr; }
  virtual Aborts* aborts() { return nullptr; }
  virtual GraphContents* graph_contents() { return nullptr; }
  virtual DeviceFaults* faults() { return nullptr; }
  /// Copies many blocks to the host at once; null: use read().
  virtual BlockCopier* copier() { return nullptr; }
  /// Moves blocks to and from another worker's device without the host; null: not supported.
  virtual const BlockMover* mover() const { return nullptr; }
};

}  // namespace jitc

// Cuda device: one virtual GPU (a session) on a real one.
//
// enqueue gives an op to the handler of its family, which looks up handles, checks operands, and submits the
// op to the driver on its real stream, in sequence order, with mutex_ held; families.h has them all. The
// poller finds out what has run (completion_poller.h). State (run_state.h): only a running device accepts
// ops. The device itself holds the parts, and takes them through a fence. Called by: the core, through
// Backend.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "aspects.h"
#include "device/backend.h"
#include "device/backend_options.h"
#include "device/cuda/access/direct_access.h"
#include "device/cuda/driver/quiesce.h"
#include "device/cuda/faults/fault_injector.h"
#include "device/cuda/peer/direct_path.h"
#include "families.h"
#include "gpu_watch.h"

namespace jitc::cuda {

class Device final : public Backend {
 public:
  /// Opens the device; nullptr with the reason.
  static std::unique_ptr<Device> open(const BackendOptions& options, ExecutionSink& sink,
                                      CommunicatorSegments& segments, ImageSource& images,
                                      std::string& error);
  /// Throws OpError.
  Device(const BackendOptions& options, std::shared_ptr<Context> context, std::unique_ptr<Memory> memory,
         ExecutionSink& sink, CommunicatorSegments& segments, ImageSource& images);
  ~Device() override;

  void enqueue(const ops::OpHeader& op) override;
  void flush() override;
  Idle await_idle(std::optional<std::chrono::milliseconds> limit) override;
  void fence() override;
  void unfence() override;
  bool restore(const Resources& resources, std::string& error) override;
  void commit() override;
  bool communicator(uint64_t handle, Resources::Communicator& out) const override;
  bool read(uint64_t address, std::span<std::byte> out) const override;
  bool read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const override;
  bool write(uint64_t address, std::span<const std::byte> data) override;
  void hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const override;
  bool hashes_itself() const override { return access_.hashes_itself(); }
  void poison_all(std::span<const MemoryRange> ranges) override;
  uint64_t memory_used() const override { return memory_->used(); }
  uint64_t memory_total() const override { return memory_->total(); }
  Activity* activity() override { return &aspects_; }
  Aborts* aborts() override { return &families_.collectives.communicators(); }
  GraphContents* graph_contents() override { return &aspects_; }
  DeviceFaults* faults() override { return &aspects_; }
  BlockCopier* copier() override { return &access_.copies(); }
  const BlockMover* mover() const override { return &direct_path_; }

 private:
  void issue(const ops::OpHeader& op);
  void issue_or_fail(const ops::OpHeader& op);
  void fail(const ops::OpHeader& op, const OpError& error);
  bool busy();
  void stuck();
  bool restore_memory(const Resources& resources, std::string& error);

  const BackendOptions options_;
  ExecutionSink& sink_;
  const std::shared_ptr<Context> context_;
  const Quiesce quiesce_;
  std::mutex mutex_;  // held while ops are issued; guards streams_, events_, issuer_, families_, injector_
  RunState state_;
  const std::unique_ptr<Memory> memory_;
  PinnedPool pool_;
  GpuWatch watch_;
  CompletionPoller poller_;  // after what its deliveries use
  Streams streams_;
  Events events_;
  Issuer issuer_;
  mutable DirectAccess access_;  // one at a time, by itself
  Families families_;
  FaultInjector injector_;
  const DirectPath direct_path_;
  std::atomic<bool> at_rest_{false};  // fenced and idle
  mutable Residency residency_;       // its thread uses all of the above
  Aspects aspects_;
};

}  // namespace jitc::cuda

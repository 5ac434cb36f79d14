// Software device: one virtual GPU in host memory.
//
// Called by: the core, through Backend. An op has two steps: its handler (in enqueue, in sequence order:
// looks up handles, queues the op's work on its stream or does it at once; families.h has them all), and its
// work (on the stream's thread). State (run_state.h): only a running device executes ops. The device itself
// holds the parts, and takes them through a fence.
#pragma once
#include <memory>
#include <mutex>

#include "aspects.h"
#include "device/backend.h"
#include "device/backend_options.h"
#include "device/common/run_state.h"
#include "device/common/turns/residency.h"
#include "device/services.h"
#include "device/sink.h"
#include "device/software/errors/error.h"
#include "device/software/errors/failures.h"
#include "device/software/issue/issuer.h"
#include "device/software/memory/memory.h"
#include "device/software/module/modules.h"
#include "device/software/order/checker.h"
#include "device/software/shuffle/shuffled.h"
#include "device/software/steady/steady_hashes.h"
#include "device/software/stream/crew.h"
#include "device/software/stream/hangs.h"
#include "device/software/stream/streams.h"
#include "device/software/stream/task_runner.h"
#include "device/software/stream/wait_hub.h"
#include "families.h"

namespace jitc::software {

/// Makes every op of every session in this process fail with the status (0: works again), as on a GPU after a
/// sticky error. For tests and injected faults.
void break_device(uint32_t status);

class Device final : public Backend {
 public:
  /// Opens the device; nullptr with the reason.
  static std::unique_ptr<Device> open(const BackendOptions& options, ExecutionSink& sink,
                                      CommunicatorSegments& segments, ImageSource& images,
                                      std::string& error);
  Device(const BackendOptions& options, std::shared_ptr<const Operators> operators, ExecutionSink& sink,
         CommunicatorSegments& segments, ImageSource& images);
  ~Device() override;

  void enqueue(const ops::OpHeader& op) override;
  Idle await_idle(std::optional<std::chrono::milliseconds> limit) override;
  void fence() override;
  void unfence() override;
  bool restore(const Resources& resources, std::string& error) override;
  void commit() override;
  bool communicator(uint64_t handle, Resources::Communicator& out) const override;
  bool read(uint64_t address, std::span<std::byte> out) const override;
  bool read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const override;
  bool write(uint64_t address, std::span<const std::byte> data) override;
  int copy_threads() const override { return options_.threads; }
  void hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const override;
  void poison_all(std::span<const MemoryRange> ranges) override;
  uint64_t memory_used() const override { return memory_.used(); }
  uint64_t memory_total() const override { return memory_.limit(); }
  Activity* activity() override { return &aspects_; }
  Aborts* aborts() override { return &families_.collectives.communicators(); }
  DeviceFaults* faults() override { return &aspects_; }

 private:
  void issue(const ops::OpHeader& op);
  void perform(const ops::OpHeader& op);
  void give_up_waits();
  /// Runs the work with the memory on the GPU; false if that is not possible.
  template <class Work>
  bool with_memory(Work&& work, std::string* error = nullptr) const;
  bool restore_memory(const Resources& resources, std::string& error);

  const BackendOptions options_;
  WaitHub hub_;
  const std::unique_ptr<Shuffled> shuffled_;  // null: without --shuffle
  ExecutionSink& sink_;
  RunState state_;
  Failures failures_;
  WatchedPages watched_;
  mutable SteadyHashes steady_{watched_, {options_.address_base, options_.address_bytes}};
  Memory memory_;
  mutable Residency residency_;
  Modules modules_;
  TaskRunner runner_;
  std::mutex mutex_;  // held while ops are issued; guards streams_, families_, order_
  Streams streams_;
  Issuer issuer_;
  Families families_;
  const std::unique_ptr<order::Checker> order_;  // null: not checked
  Crew crew_;                                    // after what its threads use
  Hangs hangs_;                                  // its thread uses all of the above
  Aspects aspects_;
};

}  // namespace jitc::software

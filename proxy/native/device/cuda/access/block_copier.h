// Copies many blocks straight to shared memory that is registered with the driver, and back, all in flight at
// once: the GPU's copy engine is the only limit.
//
// The arena is registered in windows at their first use, so that only used parts take memory. Pages of new
// windows are made on several threads first: one makes 1 to 2 GB/s. If the driver cannot register memory, or
// must not (driver/diagnosis.h), blocks go through Transfer. A window is unregistered before its memory is
// released (forget), at the latest by the destructor: otherwise the driver would write to unmapped pages.
//
// Copies that were begun run on a stream of the lowest priority, so that the program's work goes first.
// Lock rule: mutex_ guards everything, and is not held while waiting for begun copies; any thread.
// Called by: the executor, through Device.
#pragma once
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "device/common/run_state.h"
#include "device/cuda/memory/memory.h"
#include "device/transfers.h"
#include "transfer.h"

namespace jitc::cuda {

class RegisteredCopies final : public BlockCopier {
 public:
  RegisteredCopies(std::shared_ptr<Context> context, const Memory& memory, device::Residency& residency,
                   device::RunState& state, Transfer& detour)
      : context_(std::move(context)),
        memory_(memory),
        residency_(residency),
        state_(state),
        detour_(detour) {}
  ~RegisteredCopies() override;
  RegisteredCopies(const RegisteredCopies&) = delete;
  RegisteredCopies& operator=(const RegisteredCopies&) = delete;

  void use(std::span<std::byte> arena) override { arena_ = arena; }
  bool copy(std::span<const BlockCopy> blocks) override;
  bool put_back(std::span<const BlockCopy> blocks) override;
  bool begin(std::span<const BlockCopy> blocks) override;
  bool finish() override;
  void forget(std::span<std::byte> memory) override;

  /// Returns the streams that copies may be in flight on.
  std::vector<abi::CUstream> streams();
  /// Returns whether copies are in flight.
  bool under_way();

  /// Size of a window of the arena: registering costs time by the piece, and memory by the page.
  static constexpr size_t kWindow = 16u << 20;

 private:
  enum class Way { to_host, to_device };
  bool given(std::span<const BlockCopy> blocks, abi::CUstream& stream, Way way, bool waits);
  void ask_for_memory(std::span<const BlockCopy> blocks);
  void start(const BlockCopy& block, abi::CUstream stream, Way way);
  template <class Work>
  void by_window(std::span<std::byte> copy, const Work& work) const;
  void start_piece(const BlockCopy& piece, abi::CUstream stream, Way way);
  bool is_registered(size_t window);
  std::span<std::byte> window(size_t number) const;
  void copy_by_detour(const BlockCopy& block, Way way);

  const std::shared_ptr<Context> context_;
  const Memory& memory_;
  device::Residency& residency_;
  device::RunState& state_;
  Transfer& detour_;
  std::mutex mutex_;
  std::span<std::byte> arena_;
  abi::CUstream stream_ = nullptr, beside_ = nullptr;
  std::set<size_t> windows_;  // registered with the driver
  bool given_up_ = false;     // registration failed for the copies now being issued
};

}  // namespace jitc::cuda

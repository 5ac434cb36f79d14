// Copies of many blocks straight to shared memory that the driver knows (registered), and back, all under way
// at once: the GPU's copy engine is the only limit.
//
// The arena is registered in windows, when something is first copied there, so that no more of it takes
// memory than is used. Pages of new windows are made on several threads first: one makes 1 to 2 GB/s. Where
// the driver registers nothing, or is not to (driver/diagnosis.h), blocks take the detour of Transfer. A
// window is given back before its memory is (forget), at the latest by the destructor: the driver would go on
// writing to pages that nobody sees.
//
// Copies that were begun have a stream of their own, of the lowest priority, so that the program's work goes
// first. Lock rule: mutex_ guards all of it, and is not held while begun copies are waited for; any thread.
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

  /// Those that copies may be under way on.
  std::vector<abi::CUstream> streams();
  /// Some are.
  bool under_way();

  /// Of a window of the arena: registering costs time by the piece, and memory by the page.
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
  std::set<size_t> windows_;  // that the driver knows
  bool given_up_ = false;     // it registers nothing more for the copies that are being given
};

}  // namespace jitc::cuda

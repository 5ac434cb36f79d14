// One end of a direct transfer: a communicator of two ranks that lives for one transfer of blocks between the
// devices of two workers.
//
// The ends find each other in a shared segment (nccl_bootstrap.h), make NCCL's communicator, put all blocks
// on a stream of their own as sends or receives in groups, and wait until the stream is through. The
// communicator does not block, so every wait sees the time limit, an end that has refused, and that the
// transfer was cancelled. NCCL's own error counts too; two workers on one GPU without an NCCL_HOSTID are one.
//
// Promise: one thread at a time is inside NCCL; an end that fails says so to the other one before anything
// else. Called by: DirectPath, in a thread of its own.
#pragma once
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/driver/context.h"
#include "device/cuda/nccl/nccl.h"
#include "device/cuda/nccl/nccl_bootstrap.h"
#include "device/transfers.h"

namespace jitc::cuda {

/// Ranges as messages of at most so many bytes. Both ends cut alike: they have ranges of the same sizes.
std::vector<MemoryRange> messages_of(std::span<const MemoryRange> ranges, uint64_t most);

class PeerEndpoint {
 public:
  PeerEndpoint(std::shared_ptr<Context> context, std::string nccl_path, DirectTransfer transfer);
  ~PeerEndpoint();
  PeerEndpoint(const PeerEndpoint&) = delete;
  PeerEndpoint& operator=(const PeerEndpoint&) = delete;

  /// Opens the segment. Throws OpError, as all that follow.
  void open();
  /// Opens NCCL, meets the other end, moves the ranges, takes leave.
  void move(std::span<const MemoryRange> ranges);
  /// After a failure: tells the other end, gives up what NCCL has of it. False: the stream does not come to
  /// rest in time.
  bool give_up(std::chrono::milliseconds rest);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint64_t kPiece = 256u << 20;  // largest message
  static constexpr size_t kGroup = 512;           // messages of a group

  int rank() const { return transfer_.sends ? 0 : 1; }
  void check_going() const;
  NcclUniqueId meet();
  void connect(const NcclUniqueId& id);
  void put_on_stream(std::span<const MemoryRange> messages);
  int call(const MemoryRange& message);
  void wait_through();
  void take_leave();
  void finish(int result);
  int async_error();

  const std::shared_ptr<Context> context_;
  const std::string nccl_path_;
  const DirectTransfer transfer_;
  const Clock::time_point until_;
  NcclBootstrap bootstrap_;
  bool met_ = false;  // the segment is there
  const Nccl* nccl_ = nullptr;
  NcclComm comm_ = nullptr;
  abi::CUstream stream_ = nullptr;
};

}  // namespace jitc::cuda

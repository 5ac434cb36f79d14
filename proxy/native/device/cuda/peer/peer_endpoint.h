// One end of a direct transfer: a communicator of two ranks that lives for one transfer of blocks between the
// devices of two workers.
//
// The ends meet in a shared segment (nccl_bootstrap.h), make NCCL's communicator, put all blocks on a stream
// of their own as sends or receives in groups, and wait for the stream's end. The communicator does not
// block, so every wait notices the time limit, an end that has refused, and cancellation. An error of NCCL
// also ends it, such as two workers on one GPU without an NCCL_HOSTID.
//
// Promise: one thread at a time is inside NCCL; a failing end first notifies the other one. Called by:
// DirectPath, in a thread of its own.
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

/// Splits ranges into messages of at most so many bytes. Both ends split alike: their ranges are equal-sized.
std::vector<MemoryRange> messages_of(std::span<const MemoryRange> ranges, uint64_t most);

class PeerEndpoint {
 public:
  PeerEndpoint(std::shared_ptr<Context> context, std::string nccl_path, DirectTransfer transfer);
  ~PeerEndpoint();
  PeerEndpoint(const PeerEndpoint&) = delete;
  PeerEndpoint& operator=(const PeerEndpoint&) = delete;

  /// Opens the segment. Throws OpError, as do all functions below.
  void open();
  /// Opens NCCL, meets the other end, moves the ranges, disconnects.
  void move(std::span<const MemoryRange> ranges);
  /// Cleans up after a failure: notifies the other end, releases NCCL's communicator. False: the stream does
  /// not become idle in time.
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
  bool met_ = false;  // the segment is open
  const Nccl* nccl_ = nullptr;
  NcclComm comm_ = nullptr;
  abi::CUstream stream_ = nullptr;
};

}  // namespace jitc::cuda

// NCCL's communicator, as held by one rank.
//
// ncclCommAbort must never overlap another call, and ncclCommGetAsyncError not even itself: a thread inside
// NCCL with the communicator holds its mutex. An abort may have to wait for graphs that only a fence frees,
// and the fence for the dispatcher: so it begins with the mutex held and continues without it, and other
// threads find no communicator meanwhile.
// Lock rule: a mutex of its own, taken by all but open(), nccl() and get(). Called by: Communicator,
// CollectiveCall.
#pragma once
#include <mutex>
#include <string>
#include <utility>

#include "device/cuda/driver/error.h"
#include "nccl.h"

namespace jitc::cuda {

class NcclHandle {
 public:
  NcclHandle() = default;
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  /// Opens NCCL, before anything else. Throws OpError.
  void open(const std::string& path) {
    std::string error;
    nccl_ = Nccl::open(path, error);
    if (!nccl_) refuse(kNotSupported, "no-nccl", error);
  }
  const Nccl& nccl() const { return *nccl_; }
  /// Locks, for calls of NCCL with get().
  std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  /// Returns the communicator while held; throws Abandoned when it is closed.
  NcclComm get() const {
    if (!comm_) throw Abandoned{};
    return comm_;
  }

  // These functions return NCCL's result.
  int make(int ranks, const NcclUniqueId& id, int rank) {
    NcclConfig config;
    config.blocking = 0;
    const std::lock_guard lock(mutex_);
    const int result = nccl_->init_rank(&comm_, ranks, id, rank, &config);
    return !comm_ && !unhealthy(result) ? kNcclInternalError : result;
  }
  /// Returns the asynchronous result.
  int result() {
    const std::lock_guard lock(mutex_);
    int state = kNcclSuccess;
    if (!comm_) return kNcclInvalidUsage;
    const int result = nccl_->async_error(comm_, &state);
    return result == kNcclSuccess ? state : result;
  }
  int finalize() {
    const std::lock_guard lock(mutex_);
    return nccl_->finalize(comm_);
  }
  /// Throws an OpError for an unhealthy result.
  void check(int result) {
    if (!unhealthy(result)) return;
    const std::lock_guard lock(mutex_);
    refuse_nccl(*nccl_, result, comm_);
  }
  void destroy() {
    const std::lock_guard lock(mutex_);
    nccl_->destroy(std::exchange(comm_, nullptr));
  }
  /// Aborts the communicator, if any. When it returns no thread is inside NCCL with it.
  void abort() {
    const std::lock_guard one_at_a_time(ending_);
    if (const NcclComm ended = take()) nccl_->abort(ended);
  }

 private:
  NcclComm take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(comm_, nullptr);
  }

  const Nccl* nccl_ = nullptr;
  std::mutex ending_;  // taken before mutex_
  std::mutex mutex_;
  NcclComm comm_ = nullptr;
};

}  // namespace jitc::cuda

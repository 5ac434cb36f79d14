// Timeline of one stream: its ops, its progress, and the waits for that.
//
// Lock rule: see the members. Called by: CompletionPoller, which alone accesses the content; others hold one
// to wait for it.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "device/common/error.h"
#include "device/cuda/memory/pinned.h"
#include "device/sink.h"

namespace jitc::cuda {

/// Action to take when a stream reaches a mark.
struct Completion {
  uint64_t sequence = 0;       // of the op that is answered; 0: none
  size_t bytes = 0;            // of memory: the result
  Pinned memory;               // kept until then
  std::function<void()> then;  // answers instead of a success with these bytes; in the poller's thread

  void give(ExecutionSink& sink) const {
    if (then)
      then();
    else if (sequence)
      sink.result(sequence, device::kSuccess, {memory.data(), bytes});
  }
};

class StreamTimeline;

/// Actions that are due on a timeline.
struct Delivery {
  std::shared_ptr<StreamTimeline> timeline;
  std::vector<Completion> completions;
  uint64_t value = 0, sequence = 0;  // sequence 0: no progress
};

/// Timeline. Outlives the stream for those who wait for it.
class StreamTimeline {
 public:
  StreamTimeline(uint64_t handle, abi::CUstream real, std::shared_ptr<Words> words)
      : handle_(handle), real_(real), words_(std::move(words)), word_(words_->take()) {}
  ~StreamTimeline() { words_->give_back(word_); }
  StreamTimeline(const StreamTimeline&) = delete;
  StreamTimeline& operator=(const StreamTimeline&) = delete;
  uint64_t handle() const { return handle_; }

 private:
  friend class CompletionPoller;
  struct Mark {
    uint64_t value, first, sequence;  // covers the ops from first to sequence
    bool collective;
  };
  struct Waiting {
    uint64_t value;
    Completion completion;
  };

  // Require the poller's mutex.
  uint64_t reached() const { return word_.host->load(std::memory_order_acquire); }
  void look() { seen_ = reached(); }
  /// Reads the progress again; true if a waiter needs it.
  bool look_again();
  /// Collects what is due as of the last look; false: nothing.
  bool collect(Delivery& out);
  void was_told(uint64_t value);

  const uint64_t handle_;
  const abi::CUstream real_;
  const std::shared_ptr<Words> words_;
  const Word word_;
  // Require the device's mutex.
  uint64_t given_ = 0;     // newest op
  uint32_t unmarked_ = 0;  // ops since the newest mark
  uint64_t first_ = 0;     // the first of them
  bool collective_ = false;
  // Require the poller's mutex.
  std::deque<Mark> marks_;
  std::deque<Waiting> waiting_;  // by value
  uint64_t issued_ = 0, reported_ = 0;
  uint64_t seen_ = 0, newer_ = 0;  // marks, in the looks of one round
  bool listed_ = false;
  bool handed_out_ = false;  // its collected deliveries are being reported
};

}  // namespace jitc::cuda

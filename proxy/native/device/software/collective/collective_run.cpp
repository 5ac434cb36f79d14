// Collectives in rounds through the boxes of the segment; see Rounds in communicator.h.
//
// Large data goes through in chunks of a box. All reductions take the ranks in order, so that all ranks get
// the same bits. Rejected: a ring (fewer copies, but rank order then depends on the slice).
#include "collective_run.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "device/software/arithmetic/reduce.h"
#include "device/software/errors/error.h"

namespace jitc::software {
namespace {
using ops::CollectiveKind;
constexpr uint64_t kSmall =
    16384;  // up to here an all-reduce takes one round, and every rank reduces all of it

uint64_t rounds_for(uint64_t count, uint64_t chunk) {
  return std::max<uint64_t>(1, (count + chunk - 1) / chunk);
}

class RoundRun : public Run {
 public:
  RoundRun(const Call& call, const Communicator& communicator, uint64_t chunk, uint64_t rounds)
      : call_(call), communicator_(communicator), chunk_(chunk), total_(rounds) {}

  bool advance_within(uint64_t) final {
    if (!rounds_) rounds_.emplace(communicator_, kCollectives);  // only now: its turn has come
    if (!published_) {
      const uint64_t used = fill(step_, rounds_->own_box()) * call_.width;
      rounds_->publish(descriptor(used));
      return published_ = true;
    }
    if (!rounds_->complete()) return false;
    rounds_->compare(descriptor(0));
    drain(step_);
    rounds_->next();
    published_ = false;
    ++step_;
    return true;
  }
  bool done() const final { return step_ == total_; }
  uint64_t steps() const final { return 2 * step_ + published_; }
  Call& call() final { return call_; }

 protected:
  /// Writes this rank's part of the step into its box. Returns its elements.
  virtual uint64_t fill(uint64_t step, std::byte* box) = 0;
  /// Reads what this rank needs from all boxes.
  virtual void drain(uint64_t step) = 0;

  uint32_t ranks() const { return communicator_.ranks(); }
  uint32_t rank() const { return communicator_.rank(); }
  bool is_root() const { return call_.item.peer == static_cast<int32_t>(rank()); }
  uint64_t first(uint64_t chunk) const { return std::min(call_.item.count, chunk * chunk_); }
  uint64_t size(uint64_t chunk) const { return first(chunk + 1) - first(chunk); }
  /// Writes elements of this rank's input to the begin of its box.
  uint64_t put(std::byte* box, uint64_t from, uint64_t count) const {
    call_.contribute(box, from, count);
    return count;
  }
  std::byte* receive_at(uint64_t element) const { return call_.receive + element * call_.width; }
  void take(uint64_t to, const std::byte* from, uint64_t count) const {
    if (count) std::memcpy(receive_at(to), from, count * call_.width);
  }
  /// Reduces count elements from first on of every box, in rank order.
  void reduce_boxes(uint64_t from, uint64_t count, std::byte* out, uint64_t back = 0) const {
    if (count == 0) return;
    std::vector<const std::byte*> inputs(ranks());
    for (uint32_t other = 0; other < ranks(); ++other)
      inputs[other] = rounds_->box(other, back) + from * call_.width;
    reduce(call_.item.dtype, call_.item.reduction, inputs, out, count);
  }

  Call call_;
  const Communicator& communicator_;
  const uint64_t chunk_, total_;
  std::optional<Rounds> rounds_;

 private:
  Descriptor descriptor(uint64_t used) const {
    return {.kind = call_.item.kind,
            .dtype = call_.item.dtype,
            .reduction = call_.item.reduction,
            .root = call_.item.peer,
            .count = call_.item.count,
            .step = step_,
            .used = used};
  }
  uint64_t step_ = 0;
  bool published_ = false;
};

class SmallAllReduce final : public RoundRun {
 public:
  SmallAllReduce(const Call& call, const Communicator& communicator)
      : RoundRun(call, communicator, kSmall, 1) {}
  uint64_t fill(uint64_t, std::byte* box) override { return put(box, 0, call_.item.count); }
  void drain(uint64_t) override { reduce_boxes(0, call_.item.count, call_.receive); }
};

/// All-reduce in two rounds per chunk: all ranks post their data, then each posts its slice of the result.
class AllReduce final : public RoundRun {
 public:
  AllReduce(const Call& call, const Communicator& communicator, uint64_t chunk)
      : RoundRun(call, communicator, chunk, 2 * rounds_for(call.item.count, chunk)) {}
  uint64_t fill(uint64_t step, std::byte* box) override {
    const uint64_t chunk = step / 2;
    if (step % 2 == 0) return put(box, first(chunk), size(chunk));
    const uint64_t begin = slice(chunk, rank()), end = slice(chunk, rank() + 1);
    reduce_boxes(begin, end - begin, box, 1);
    return end - begin;
  }
  void drain(uint64_t step) override {
    const uint64_t chunk = step / 2;
    if (step % 2 == 0) return;
    for (uint32_t other = 0; other < ranks(); ++other) {
      const uint64_t begin = slice(chunk, other), end = slice(chunk, other + 1);
      take(first(chunk) + begin, rounds_->box(other), end - begin);
    }
  }

 private:
  uint64_t slice(uint64_t chunk, uint32_t rank) const { return size(chunk) * rank / ranks(); }
};

class Broadcast final : public RoundRun {
 public:
  Broadcast(const Call& call, const Communicator& communicator, uint64_t chunk)
      : RoundRun(call, communicator, chunk, rounds_for(call.item.count, chunk)) {}
  uint64_t fill(uint64_t step, std::byte* box) override {
    return is_root() ? put(box, first(step), size(step)) : 0;
  }
  void drain(uint64_t step) override {
    const auto root = static_cast<uint32_t>(call_.item.peer);
    if (call_.receive) take(first(step), rounds_->box(root), size(step));
  }
};

class Reduce final : public RoundRun {
 public:
  Reduce(const Call& call, const Communicator& communicator, uint64_t chunk)
      : RoundRun(call, communicator, chunk, rounds_for(call.item.count, chunk)) {}
  uint64_t fill(uint64_t step, std::byte* box) override { return put(box, first(step), size(step)); }
  void drain(uint64_t step) override {
    if (is_root()) reduce_boxes(0, size(step), receive_at(first(step)));
  }
};

class AllGather final : public RoundRun {
 public:
  AllGather(const Call& call, const Communicator& communicator, uint64_t chunk)
      : RoundRun(call, communicator, chunk, rounds_for(call.item.count, chunk)) {}
  uint64_t fill(uint64_t step, std::byte* box) override { return put(box, first(step), size(step)); }
  /// Leaves a rank's own part unchanged in place, as NCCL does.
  void drain(uint64_t step) override {
    const bool in_place = call_.send == receive_at(rank() * call_.item.count);
    for (uint32_t other = 0; other < ranks(); ++other)
      if (!in_place || other != rank())
        take(other * call_.item.count + first(step), rounds_->box(other), size(step));
  }
};

/// Scatter, whose box holds one piece per receiving rank.
class Scatter : public RoundRun {
 public:
  Scatter(const Call& call, const Communicator& communicator, uint64_t chunk)
      : RoundRun(call, communicator, chunk / communicator.ranks(),
                 rounds_for(call.item.count, chunk / communicator.ranks())) {}
  uint64_t fill(uint64_t step, std::byte* box) final {
    for (uint32_t other = 0; other < ranks(); ++other)
      put(box + other * size(step) * call_.width, other * call_.item.count + first(step), size(step));
    return ranks() * size(step);
  }
};

class ReduceScatter final : public Scatter {
 public:
  using Scatter::Scatter;
  void drain(uint64_t step) override {
    reduce_boxes(rank() * size(step), size(step), receive_at(first(step)));
  }
};

class AllToAll final : public Scatter {
 public:
  using Scatter::Scatter;
  void drain(uint64_t step) override {
    for (uint32_t other = 0; other < ranks(); ++other)
      take(other * call_.item.count + first(step), rounds_->box(other) + rank() * size(step) * call_.width,
           size(step));
  }
};

/// Run on a communicator of one rank: its output is its input.
class Alone final : public Run {
 public:
  explicit Alone(const Call& call) : call_(call) {}
  bool advance_within(uint64_t) override {
    if (posted_ && call_.receive) call_.contribute(call_.receive, 0, call_.item.count);
    done_ = posted_;
    return posted_ = true;
  }
  bool done() const override { return done_; }
  uint64_t steps() const override { return uint64_t{posted_} + done_; }
  Call& call() override { return call_; }

 private:
  Call call_;
  bool posted_ = false, done_ = false;
};
}  // namespace

std::unique_ptr<Run> make_run(const Call& call, const Communicator& communicator) {
  if (call.point_to_point()) return make_letter_run(call, communicator);
  if (communicator.ranks() == 1) return std::make_unique<Alone>(call);
  const uint64_t chunk = Segment::kBox / call.width;
  switch (call.kind()) {
    case CollectiveKind::all_reduce:
      if (call.item.count * call.width <= kSmall) return std::make_unique<SmallAllReduce>(call, communicator);
      return std::make_unique<AllReduce>(call, communicator, chunk);
    case CollectiveKind::broadcast:
      return std::make_unique<Broadcast>(call, communicator, chunk);
    case CollectiveKind::reduce:
      return std::make_unique<Reduce>(call, communicator, chunk);
    case CollectiveKind::all_gather:
      return std::make_unique<AllGather>(call, communicator, chunk);
    case CollectiveKind::reduce_scatter:
      return std::make_unique<ReduceScatter>(call, communicator, chunk);
    default:
      return std::make_unique<AllToAll>(call, communicator, chunk);
  }
}

}  // namespace jitc::software

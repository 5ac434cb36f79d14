// Issues one op to the back end: notes what it makes, and refuses what it may not have.
//
// Promises: every op that is issued counts as progress of its stream, also one that is refused or skipped; a
// resource that could not be made when the op first ran is not made in a replay. Called by: the dispatcher's
// thread alone, except for has_image (Restorer, while the dispatcher is parked) and the injection points
// (back end threads).
#pragma once
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "executor/core/session_core.h"
#include "executor/faults/injector.h"

namespace jitc {

class Backpressure;
class Delivery;

class OpIssuer {
 public:
  OpIssuer(SessionCore& core, Backpressure& backpressure, Delivery& delivery)
      : core_(core), backpressure_(backpressure), delivery_(delivery) {}

  void issue(const ops::OpHeader& op);
  /// Takes the back end's result for the op that is being issued, before issue() returns.
  void completed(uint64_t sequence, uint32_t status, std::span<const std::byte> payload);
  /// Returns whether several threads of the program took part in the newest optimizer step.
  bool step_shared() const { return step_shared_; }
  void step_begins() { step_shared_ = false; }
  /// Passes an op that the back end does not execute.
  void pass(const ops::OpHeader& op);
  /// Notes that all ops up to this one have run.
  void note_done(const ops::OpHeader& op);

  /// Serves an op about module images, which are the node's. Returns false if the session stops.
  bool serve_image(const ops::OpHeader& op);
  uint32_t has_image(const ops::ImageQuery& query) const;
  void images_are_used_until(uint64_t sequence) { images_used_ = sequence; }
  /// Frees images that only ops up to `sequence` needed: those are over for good.
  void release_unused_images(uint64_t sequence, const std::deque<BoundaryState>& boundaries);

  void arm(const Fault& fault) { injector_.arm(fault); }
  void at_op(const ops::OpHeader& op) { inject(injector_.at_op(op, core_.at.last_boundary), op); }
  void at_point(const ops::OpHeader& op, std::string_view phase) {
    inject(injector_.at_point(op, phase, core_.at.last_boundary), op);
  }

 private:
  /// The result of an op that completes synchronously.
  struct Completed {
    uint64_t sequence = 0;  // 0: the op that is being issued does not
    std::optional<uint32_t> status;
    std::vector<std::byte> payload;
  };

  void refuse_excess(const ops::OpHeader& op, const ops::OpInfo& info, const ResourceTable::Excess& excess);
  bool failed_before(const ops::OpHeader& op) const;
  void skip(const ops::OpHeader& op);
  void note_resource(const ops::OpHeader& op, const ops::OpInfo& info);
  void note_window(const ops::OpHeader& op);
  void inject(const std::optional<Fault>& fault, const ops::OpHeader& op);

  SessionCore& core_;
  Backpressure& backpressure_;
  Delivery& delivery_;
  Injector injector_;
  Completed completed_;
  bool step_shared_ = false;
  uint64_t images_used_ = 0;  // newest op that made an image needed, or not needed any more; 0: none
};

}  // namespace jitc

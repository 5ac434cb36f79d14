// The node's board: memory that all of its workers share, with one slot per session. It has two parts: one by
// which the ranks of a job agree (job_board.h), and one by which the sessions of the node share its memory
// and GPUs (node_board.h).
//
// Called by: sessions, which hand each part to its users; the service, through the C interface, to free
// slots.
#pragma once
#include <cstdint>
#include <string>

#include "job_board.h"
#include "node_board.h"
#include "shared_map.h"

namespace jitc {

class Board {
 public:
  static constexpr uint32_t kSlots = JobBoard::kSlots;
  static_assert(kSlots == NodeBoard::kSlots);
  static constexpr uint64_t kBytes = JobBoard::kBytes + NodeBoard::kBytes;

  explicit Board(const std::string& path)
      : map_(path, kBytes), job(map_.data()), node(map_.data() + JobBoard::kBytes) {}
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Gives the slot to the session from now on.
  void enter(uint32_t slot, uint64_t session) const {
    node.slot(slot).session.store(session);
    job.slot(slot).session.store(session);
  }
  /// Takes the session out of its group; it may still hold memory.
  void leave(uint32_t slot) const {
    node.leave(slot);
    job.leave(slot);
  }
  /// Takes the session out of its group and frees the slot: it holds no memory either.
  void clear(uint32_t slot) const {
    leave(slot);
    node.clear(slot);
  }

 private:
  SharedMap map_;

 public:
  const JobBoard job;
  const NodeBoard node;
};

}  // namespace jitc

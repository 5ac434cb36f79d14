// One collective op: checks its items, then calls NCCL with them as one group on a stream.
//
// Promises: addresses outside of allocations never reach NCCL; when finish() returns NCCL has put everything
// on the stream, so that later work on the stream runs after it.
// Called by: Communicators, from the dispatcher's thread.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "communicator.h"

namespace jitc::cuda {

class CollectiveCall {
 public:
  /// Throws OpError when the record is shorter than its items.
  CollectiveCall(CommunicatorContext& context, const ops::Collective& op);
  std::span<const ops::CollectiveItem> items() const { return items_; }
  /// Adds the communicator of the next item.
  void add(std::shared_ptr<Communicator> communicator);

  /// Waits until all communicators are ready, then checks the items. False: the program aborts one of them.
  /// Throws OpError, Abandoned.
  bool prepare();
  /// Memory that an item reads and writes. After prepare().
  struct Operands {
    ops::CollectiveItem item;
    uint64_t send_bytes, receive_bytes, scale_bytes;
  };
  std::vector<Operands> operands() const;
  /// Replaces the items by the same ones with operands elsewhere.
  void redirect(std::vector<ops::CollectiveItem> items);
  /// Starts the group. False: the program aborts one of the communicators, and nothing is put on the stream.
  bool start(NcclStream stream);
  void finish();

 private:
  using Locks = std::vector<std::unique_lock<std::mutex>>;
  struct Premul {
    Communicator* communicator;
    int reduction;
  };

  Locks hold_all() const;
  bool ends() const;
  void check(const ops::CollectiveItem& item, const Communicator& communicator) const;
  void check_range(const char* what, uint64_t address, uint64_t count, size_t width, uint64_t times) const;
  int make_reductions();
  int call(size_t index, NcclStream stream) const;
  int call_all(NcclStream stream) const;
  void await(Communicator& communicator);
  void drop_reductions();

  CommunicatorContext& context_;
  const Nccl* nccl_ = nullptr;
  const ops::Collective& op_;
  std::span<const ops::CollectiveItem> items_;
  std::vector<ops::CollectiveItem> redirected_;
  std::vector<std::shared_ptr<Communicator>> communicators_;  // by item
  std::vector<Communicator*> members_;                        // each once
  std::vector<int> reductions_;                               // by item, as NCCL knows them
  std::vector<Premul> premuls_;
};

}  // namespace jitc::cuda

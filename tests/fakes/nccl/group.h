// Groups of calls of a thread (ncclGroupStart, ncclGroupEnd): what is called in one goes to the streams at
// its end. A call outside a group is a group of its own. Used by api.cpp.
#pragma once
#include "communicator.h"

namespace jitc::fakes {

class Group {
 public:
  static Group& of_thread();
  void start() { ++depth_; }
  /// ncclInProgress where a communicator must not block.
  int end();
  bool open() const { return depth_ > 0; }

  void add(const CommunicatorPointer& communicator, void* stream, const Operation& operation);
  /// A blocking communicator whose job the end of the group waits for.
  void await(const CommunicatorPointer& communicator) { awaited_.push_back(communicator); }
  void fail(int code) { error_ = error_ ? error_ : code; }

 private:
  struct Pending {
    CommunicatorPointer communicator;
    void* stream;
    std::vector<Operation> operations;
  };
  int launch_all();
  static void launch_later(std::vector<Pending> pending);

  int depth_ = 0;
  int error_ = 0;
  std::vector<Pending> pending_;
  std::vector<CommunicatorPointer> awaited_;
};

}  // namespace jitc::fakes

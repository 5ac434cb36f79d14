// A rank's communicator: joining, the order of its operations, a thread for what must not block the caller,
// abort. Used by api.cpp and group.cpp; exchanges.cpp does the operations.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "abi.h"
#include "operation.h"
#include "registrations.h"
#include "segment.h"

namespace jitc::fakes {

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  /// On the calling thread's device, or on the parent's. Throws NcclFailure when there is no CUDA context.
  Communicator(int rank, int size, bool blocking, const Communicator* parent = nullptr);
  ~Communicator();

  /// Runs the job on the communicator's thread; until it is done the state is "in progress".
  void start(std::function<int()> job);
  int wait_idle();
  int state();
  void set_error(int code, const std::string& text);
  /// Everything on its streams ends without a result; nothing of it runs afterwards.
  void abort();
  /// Waits until all that was put on streams has run.
  void drain();

  /// Waits until its work on streams is done and no graph has any of it.
  int finish();

  int join(const ncclUniqueId& id);
  /// The child is in progress until the ranks have split. Null: this rank is in none of the parts.
  void start_split(int color, int key, const std::shared_ptr<Communicator>& child);
  /// Puts operations on a stream. Group by group, in the order of calls, on whatever streams they are.
  int launch(void* stream, std::vector<Operation> operations);

  std::string error_text();
  int add_op(int type, bool on_device, const void* scalar);
  bool remove_op(int op);
  /// Null: there is none.
  std::shared_ptr<const OwnOp> own_op(int op);

  const bool blocking;
  int rank, size;
  int device = 0;
  std::atomic<int> inside{0};  // calls of the program under way

  /// In progress until released, by work on another communicator's thread.
  void hold_state();
  void release_state(int result);

 private:
  struct Batch;
  static void run(void* batch);
  static void release_graph(void* communicator);
  int finish_streams();
  int stay_for_graph(void* stream);
  void wait_graphs();
  void drop_stale();
  uint64_t issue();
  bool enter(uint64_t ticket, bool in_graph);
  void leave(bool in_graph);
  void serve();
  int refuse_duplicates();
  int split(int color, int key, const std::shared_ptr<Communicator>& child);

  // exchanges.cpp
  /// What a batch does on its stream.
  void perform(const std::vector<Operation>& operations);
  using Step = std::function<void(std::byte* own)>;
  bool round(uint64_t signature, const Step& write, const std::function<void()>& read);
  bool wait_phase();
  void look_at_peers();
  void collective(const Operation& operation);
  bool exchange_piece(const Operation& operation, size_t done, size_t count);
  void give(const Operation& operation, std::byte* own, size_t offset, size_t bytes);
  void messages(const std::vector<Operation>& operations);
  bool move(const Operation& operation, size_t& done);
  std::vector<const std::byte*> parts(size_t offset);
  void scaled(const Operation& operation, std::byte* values, size_t count);
  std::byte* device_memory(const void* address, size_t bytes);

  /// Graphs with its operations. A lock of their own: graphs go with the driver's lock held.
  std::mutex graphs_mutex_;
  std::condition_variable graphs_gone_;
  int graphs_ = 0;
  Registrations registrations_;  // of captured operations, until there are no graphs

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<int()>> jobs_;
  int unfinished_ = 0, held_ = 0;
  int error_ = kNcclSuccess;
  std::string error_text_;
  std::map<int, std::shared_ptr<const OwnOp>> own_ops_;
  int next_op_ = kFirstOwnOp;
  bool stop_ = false;
  std::thread thread_;
  uint64_t issued_ = 0, finished_ = 0;
  bool busy_ = false;
  int performing_ = 0;
  std::atomic<bool> aborted_{false};
  std::unique_ptr<Segment> segment_;
  uint64_t phase_ = 0;
  void* context_ = nullptr;
};
using CommunicatorPointer = std::shared_ptr<Communicator>;

struct NcclFailure {
  int code;
};

}  // namespace jitc::fakes

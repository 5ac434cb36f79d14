// All sessions of a worker process, and their connection to its control plane.
//
// A session waits for its own threads when it ends, so none of these may be the last to hold it: only callers
// of the C interface hold sessions. Work of a session's thread on all sessions (fire) is done under the lock
// that keeps them. Called by: api.cpp; sessions, through Host.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "executor/server/op_server.h"
#include "executor/session/session.h"
#include "jitc/executor_api.h"

namespace jitc {

class Executor final : public Host {
 public:
  Executor(const std::string& options, const jitc_control& control);
  ~Executor() override;

  void open(const std::string& request);
  void close(uint64_t session);
  std::shared_ptr<Session> find(uint64_t session) const;
  std::string command(const std::string& method, const std::string& request);

  // Host
  CommunicatorSegment join(uint64_t session, const std::array<uint8_t, 128>& unique_id, uint32_t ranks,
                           uint32_t rank, uint64_t epoch) override;
  void report_fault(uint64_t session, uint64_t sequence, uint32_t status, std::string cause,
                    std::string message) override;
  void report_race(uint64_t session, const Race& race) override;
  void fire(const Fault& fault, const std::string& detail) override;

 private:
  /// Returns all sessions. Not for threads of a session.
  std::vector<std::shared_ptr<Session>> all() const;
  void report(std::function<void()> call);
  void report_loop();

  std::shared_ptr<Session> find_by_token(const std::string& token) const;

  const DeviceOptions options_;
  const jitc_control control_;
  std::shared_ptr<void> device_;  // stays open between sessions
  mutable std::mutex mutex_;      // guards sessions_; reports_mutex_ may be taken with it
  std::map<uint64_t, std::shared_ptr<Session>> sessions_;
  std::map<std::string, uint64_t> tokens_;
  std::mutex reports_mutex_;  // guards what follows
  std::condition_variable wake_, reported_;
  std::deque<std::function<void()>> reports_;  // calls of the control plane may take a while
  bool stop_ = false, reporting_ = false;
  std::thread reporter_;
  std::unique_ptr<OpServer> server_;
};

}  // namespace jitc

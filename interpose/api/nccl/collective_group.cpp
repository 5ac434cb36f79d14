// Groups of NCCL calls: a group's calls for one GPU become one op.
//
// Promises: groups nest and belong to the calling thread; a group with a wrong call starts nothing. A group
// on several streams starts when all of them are ready and ends on all of them, as with NCCL. If each stream
// had an op of its own, these would wait for each other.
#include "collective_group.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "api/common/handles.h"
#include "api/generated/generated_api.h"
#include "api/stream/stream.h"
#include "communicator.h"
#include "session/message.h"

namespace jitc::api {
namespace {

struct SessionItems {
  Session* session;
  std::vector<uint64_t> streams;  // in order of first use
  std::vector<ops::CollectiveItem> items;
};
struct Group {
  int depth = 0;
  Status first_error = kSuccess;
  std::vector<SessionItems> sessions;
  std::vector<std::function<Status()>> joins;
};
thread_local Group group;

/// Event that the program does not see.
class Junction {
 public:
  explicit Junction(Session& session) : session_(session) {
    ops::EventCreate op;
    op.handle = handle_ = new_handle(Kind::group_event);
    op.flags = 2;  // without timing
    session_.submit(op);
  }
  ~Junction() {
    ops::EventDestroy op;
    op.handle = handle_;
    session_.submit(op);
  }
  Junction(const Junction&) = delete;
  Junction& operator=(const Junction&) = delete;
  /// Orders later work on second behind earlier work on first.
  void order(uint64_t first, uint64_t second) {
    auto record = on_stream<ops::EventRecord>(first);
    auto wait = on_stream<ops::EventWait>(second);
    record.event = wait.event = handle_;
    session_.submit(record);
    session_.submit(wait);
  }

 private:
  Session& session_;
  uint64_t handle_;
};

Status submit_items(Session* session, uint64_t stream, const std::vector<ops::CollectiveItem>& items) {
  auto op = on_stream<ops::Collective>(stream);
  op.count = items.size();
  return to_nccl(submitted(*session, session->submit(op, std::as_bytes(std::span(items)))));
}

Status submit_group(const SessionItems& all) {
  const uint64_t main = all.streams.front();
  if (all.streams.size() == 1) return submit_items(all.session, main, all.items);
  Junction junction(*all.session);
  for (const uint64_t stream : all.streams)
    if (stream != main) junction.order(stream, main);
  const Status status = submit_items(all.session, main, all.items);
  for (const uint64_t stream : all.streams)
    if (stream != main) junction.order(main, stream);
  return status;
}

/// Runs the joins in parallel: each waits for the other ranks, which may be in the same group.
Status run_joins(const std::vector<std::function<Status()>>& joins) {
  if (joins.size() == 1) return joins.front()();
  struct Outcome {
    Status status = kNcclInternalError;
    std::string message;  // its thread's last message
  };
  std::vector<Outcome> outcomes(joins.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < joins.size(); ++i)
    threads.emplace_back([&, i] {
      outcomes[i].status = joins[i]();
      outcomes[i].message = session::last_message();
    });
  for (auto& thread : threads) thread.join();
  const auto failed = std::find_if(outcomes.begin(), outcomes.end(),
                                   [](const Outcome& one) { return one.status != kSuccess; });
  if (failed == outcomes.end()) return kSuccess;
  session::set_last_message(failed->message);
  return failed->status;
}

}  // namespace

Status note_error(Status status) {
  if (group.depth && status && !group.first_error) group.first_error = status;
  return status;
}

Status submit_or_collect(Session* session, uint64_t stream, const ops::CollectiveItem& item) {
  if (!group.depth) return submit_items(session, stream, {item});
  auto& sessions = group.sessions;
  auto found =
      std::find_if(sessions.begin(), sessions.end(), [&](auto& one) { return one.session == session; });
  if (found == sessions.end()) found = sessions.insert(found, {session, {}, {}});
  auto& streams = found->streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
  found->items.push_back(item);
  return kSuccess;
}

Status join_or_collect(std::function<Status()> join) {
  if (!group.depth) return join();
  group.joins.push_back(std::move(join));
  return kSuccess;
}

int32_t ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}

int32_t ncclGroupEnd() {
  if (!group.depth) return kNcclInvalidUsage;
  if (--group.depth) return kSuccess;
  const Group whole = std::exchange(group, {});
  if (whole.first_error) return whole.first_error;  // as NCCL does: a wrong group starts nothing
  if (!whole.joins.empty())
    if (const Status status = run_joins(whole.joins)) return status;
  Status first = kSuccess;
  for (const SessionItems& one : whole.sessions) {
    const Status status = submit_group(one);
    if (!first) first = status;
  }
  return first;
}

}  // namespace jitc::api

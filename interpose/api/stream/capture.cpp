#include "capture.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>

#include "session/message.h"

namespace jitc::api {
namespace {

struct Capture {
  uint64_t id;
  const Session* session;
  uint64_t origin;
  int32_t mode;
  bool blocking, invalid;
  std::thread::id thread;
  std::set<uint64_t> streams;
};
struct Captures {
  std::shared_mutex mutex;
  std::vector<Capture> list;  // in progress
  std::atomic<size_t> count{0};
  uint64_t last = 0;
};
Captures& captures() {
  static auto& out = *new Captures;
  return out;
}

bool nothing_captured() { return captures().count.load(std::memory_order_acquire) == 0; }

/// Finds a capture. Requires the lock.
Capture* find(uint64_t id) {
  for (auto& one : captures().list)
    if (one.id == id) return &one;
  return nullptr;
}
Capture* find(const StreamRef& stream) {
  if (!stream.id) return nullptr;  // the default stream is never captured
  for (auto& one : captures().list)
    if (one.session == stream.session && one.streams.contains(stream.id)) return &one;
  return nullptr;
}

void say(const char* why) { session::message_once(std::string("while a CUDA graph is captured: ") + why); }

}  // namespace

CaptureView capture_of(const StreamRef& stream) {
  if (nothing_captured()) return {};
  const std::shared_lock lock(captures().mutex);
  const Capture* found = find(stream);
  if (!found) return {};
  return {found->id, found->origin, found->mode, found->invalid, found->thread == std::this_thread::get_id()};
}

bool any_capture(const Session& session) {
  if (nothing_captured()) return false;
  const std::shared_lock lock(captures().mutex);
  return std::any_of(captures().list.begin(), captures().list.end(),
                     [&](const Capture& one) { return one.session == &session; });
}

void begin_capture(const StreamRef& origin, int32_t mode, bool blocking) {
  Captures& all = captures();
  const std::lock_guard lock(all.mutex);
  all.list.push_back({++all.last,
                      origin.session,
                      origin.id,
                      mode,
                      blocking,
                      false,
                      std::this_thread::get_id(),
                      {origin.id}});
  all.count.store(all.list.size(), std::memory_order_release);
}

void end_capture(uint64_t id) {
  Captures& all = captures();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.list, [&](const Capture& one) { return one.id == id; });
  all.count.store(all.list.size(), std::memory_order_release);
}

Status join_capture(const StreamRef& stream, uint64_t id, bool blocking) {
  const std::lock_guard lock(captures().mutex);
  Capture* wanted = find(id);
  if (!wanted) return kCapturedEvent;  // recorded in a capture that has ended
  if (wanted->invalid) return kStreamCaptureInvalidated;
  if (wanted->session != stream.session) return wanted->invalid = true, kStreamCaptureUnsupported;
  if (!stream.id) return wanted->invalid = true, kStreamCaptureImplicit;
  if (Capture* own = find(stream); own && own != wanted)
    return own->invalid = wanted->invalid = true, kStreamCaptureMerge;
  wanted->streams.insert(stream.id);
  wanted->blocking |= blocking;
  return kSuccess;
}

void invalidate_capture(uint64_t id) {
  const std::lock_guard lock(captures().mutex);
  if (Capture* found = find(id)) found->invalid = true;
}

Status check_capture(const StreamRef& stream) {
  if (nothing_captured()) return kSuccess;
  const std::lock_guard lock(captures().mutex);
  if (stream.id) {
    const Capture* found = find(stream);
    return found && found->invalid ? kStreamCaptureInvalidated : kSuccess;
  }
  // The default stream would have to wait for work that does not exist yet.
  Status status = kSuccess;
  for (auto& one : captures().list)
    if (one.session == stream.session && one.blocking) one.invalid = true, status = kStreamCaptureImplicit;
  return status;
}

Status refuse_in_capture(const StreamRef& stream, const char* why) {
  const CaptureView view = capture_of(stream);
  if (!view.id) return kSuccess;
  invalidate_capture(view.id);
  say(why);
  return kStreamCaptureUnsupported;
}

Status refuse_in_any_capture(const Session& session, const char* why) {
  if (!any_capture(session)) return kSuccess;
  const std::lock_guard lock(captures().mutex);
  for (auto& one : captures().list)
    if (one.session == &session) one.invalid = true;
  say(why);
  return kStreamCaptureUnsupported;
}

}  // namespace jitc::api

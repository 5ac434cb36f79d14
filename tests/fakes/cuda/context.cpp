// Contexts: which stream a handle means, what work waits for, and the end after a sticky error. See
// context.h.
#include "context.h"

#include <cstdlib>

#include "call.h"
#include "capture.h"

namespace jitc::fakes {

Driver& Driver::instance() {
  static Driver* const driver = new Driver;  // never destroyed: stream threads run until the process ends
  return *driver;
}

Event& Driver::event(CUevent handle) {
  const auto found = events.find(number_of(handle));
  if (found == events.end()) throw Failure{kInvalidHandle};
  return found->second;
}

Context::Context(int ordinal) : ordinal(ordinal), legacy_(std::make_shared<Stream>(*this, 0, 0, 0)) {
  legacy_->legacy = true;
}

/// 0 and 1 are the legacy default stream, 2 is the calling thread's own default stream.
Stream& Context::stream(CUstream handle) {
  const uint64_t number = number_of(handle);
  if (number <= 1) return *legacy_;
  if (number == 2) {
    StreamPointer& own = per_thread_[std::this_thread::get_id()];
    if (!own) own = std::make_shared<Stream>(*this, Driver::instance().new_handle(), 0, 0);
    return *own;
  }
  const auto found = streams_.find(number);
  if (found == streams_.end()) throw Failure{kInvalidHandle};
  return *found->second;
}

CUstream Context::create_stream(unsigned flags, int priority) {
  const uint64_t handle = Driver::instance().new_handle();
  streams_[handle] = std::make_shared<Stream>(*this, handle, flags, priority);
  return handle_of<CUstream>(handle);
}

/// As with CUDA, work under way still finishes.
void Context::destroy_stream(CUstream handle) {
  const auto found = streams_.find(number_of(handle));
  if (found == streams_.end()) throw Failure{kInvalidHandle};
  invalidate(found->second->capture);
  found->second->closed = true;
  found->second->pushed_.notify_one();
  streams_.erase(found);
}

std::vector<MarkerPointer> Context::tails() const {
  std::vector<MarkerPointer> all;
  const auto add = [&](const Stream& stream) {
    if (!stream.idle()) all.push_back(stream.last);
  };
  add(*legacy_);
  for (const auto& [handle, stream] : streams_) add(*stream);
  for (const auto& [thread, stream] : per_thread_) add(*stream);
  return all;
}

std::vector<MarkerPointer> Context::legacy_order(const Stream& stream) const {
  std::vector<MarkerPointer> after;
  if (stream.blocking() && !legacy_->idle()) after.push_back(legacy_->last);
  if (!stream.legacy) return after;
  const auto add = [&](const Stream& other) {
    if (other.blocking() && !other.idle()) after.push_back(other.last);
  };
  for (const auto& [handle, other] : streams_) add(*other);
  for (const auto& [thread, other] : per_thread_) add(*other);
  return after;
}

std::vector<MarkerPointer> Context::pending(const Stream& stream) const {
  std::vector<MarkerPointer> all;
  if (stream.legacy) all = legacy_order(stream);
  if (!stream.idle()) all.push_back(stream.last);
  return all;
}

MarkerPointer Context::submit(Stream& stream, const char* what, Body body, Price price) {
  if (stream.capture) {
    stream.capture->add(stream, what, std::move(body));
    return nullptr;
  }
  if (stream.legacy) refuse_implicit_dependency(*this, true);
  return stream.push({what, current_call(), legacy_order(stream), std::move(body), std::make_shared<Marker>(),
                      std::move(price)});
}

void Context::submit_after(Stream& stream, const char* what, const MarkerPointer& marker) {
  std::vector<MarkerPointer> after = legacy_order(stream);
  after.push_back(marker);
  stream.push({what, current_call(), std::move(after), {}, std::make_shared<Marker>()});
}

void Context::fail(int code) {
  if (!sticky) sticky = code;
  Driver::instance().changed.notify_all();
}

void Context::end(std::unique_lock<std::mutex>& lock) {
  ended = true;
  legacy_->pushed_.notify_all();
  for (const auto& [handle, stream] : streams_) stream->pushed_.notify_all();
  for (const auto& [thread, stream] : per_thread_) stream->pushed_.notify_all();
  Driver& driver = Driver::instance();
  driver.changed.notify_all();
  driver.changed.wait(lock, [this] { return running == 0; });
}

void Context::wait(std::unique_lock<std::mutex>& lock, const MarkerPointer& marker) {
  if (marker) Driver::instance().changed.wait(lock, [&] { return marker->reached || over(); });
  if (sticky) throw Failure{sticky};
  if (ended) throw Failure{kContextDestroyed};
}

void Context::wait_all(std::unique_lock<std::mutex>& lock, const std::vector<MarkerPointer>& markers) {
  for (const MarkerPointer& each : markers) wait(lock, each);
  wait(lock, nullptr);
}

void Context::wait_if_asked() {
  if (!std::getenv("JITC_FAKE_WAITS")) return;
  std::unique_lock lock(Driver::instance().mutex);
  wait_all(lock, tails());
}

}  // namespace jitc::fakes

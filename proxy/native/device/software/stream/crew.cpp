// See crew.h.
#include "crew.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>

#include "jitc/limits.h"

namespace jitc::software {

Crew::Crew() {
  const std::lock_guard lock(mutex_);
  hire(nullptr);
}

Crew::~Crew() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  for (Member* const member : resting_) member->wake.notify_one();
  left_.wait(lock, [this] { return members_ == 0; });
}

size_t Crew::most() const { return limits::kStreamThreads + std::min(absent_, limits::kCollectiveThreads); }

void Crew::ready(WorkPointer work) {
  const std::lock_guard lock(mutex_);
  assign(std::move(work));
}

void Crew::assign(WorkPointer work) {
  if (!resting_.empty()) {
    Member* const member = resting_.back();
    resting_.pop_back();
    member->work = std::move(work);
    member->wake.notify_one();
  } else if (members_ >= most() || !hire(work)) {
    ready_.push_back(std::move(work));
  }
}

/// Starts a thread. False: the system has no more; the existing ones do the work.
bool Crew::hire(WorkPointer work) {
  auto member = std::make_unique<Member>();
  member->work = std::move(work);
  ++members_;
  try {
    std::thread([this, member = std::move(member)]() mutable { loop(std::move(member)); }).detach();
  } catch (const std::system_error&) {
    if (--members_ == 0) throw;
    return false;
  }
  return true;
}

void Crew::loop(std::unique_ptr<Member> self) {
  pthread_setname_np(pthread_self(), "jitc-stream");
  std::unique_lock lock(mutex_);
  while (!closing_ && !self->dismissed) {
    if (const WorkPointer work = std::move(self->work)) {
      lock.unlock();
      work->run();
      lock.lock();
    } else if (!ready_.empty()) {
      self->work = std::move(ready_.front());
      ready_.pop_front();
    } else if (members_ > most()) {
      break;
    } else {
      resting_.push_back(self.get());
      self->wake.wait(lock, [&] { return self->work || self->dismissed || closing_; });
    }
  }
  --members_;
  left_.notify_all();
}

void Crew::leave() {
  const std::lock_guard lock(mutex_);
  ++absent_;
  if (ready_.empty() || members_ >= most()) return;
  if (hire(ready_.front())) ready_.pop_front();
}

void Crew::come_back() {
  const std::lock_guard lock(mutex_);
  --absent_;
  if (members_ <= most() || resting_.empty()) return;
  resting_.front()->dismissed = true;
  resting_.front()->wake.notify_one();
  resting_.erase(resting_.begin());
}

void Crew::put_aside(WorkPointer work) {
  {
    const std::lock_guard lock(waiting_mutex_);
    aside_.push_back(std::move(work));
    waiting_.store(aside_.size());
  }
  look();  // its wait may have ended in between
}

void Crew::look() {
  std::vector<WorkPointer> able;
  {
    const std::lock_guard lock(waiting_mutex_);
    const auto waits = [](const WorkPointer& one) { return !one->can_start(); };
    const auto first = std::stable_partition(aside_.begin(), aside_.end(), waits);
    std::move(first, aside_.end(), std::back_inserter(able));
    aside_.erase(first, aside_.end());
    waiting_.store(aside_.size());
  }
  for (WorkPointer& one : able) ready(std::move(one));
}

}  // namespace jitc::software

// See call.h.
#include "call.h"

#include <unistd.h>

#include "capture.h"

namespace jitc::fakes {
namespace {
thread_local uint64_t call_number = 0;

/// Errors after which a context is of no use any more.
bool is_sticky(int code) {
  return code == kEccUncorrectable || code == 220 || code == kIllegalAddress || code == kLaunchTimeout ||
         code == kAssert || (code >= 714 && code <= kLaunchFailed);
}
}  // namespace

uint64_t current_call() { return call_number; }

ContextPointer& current_context() {
  static thread_local ContextPointer context;
  return context;
}

void hang_until_over(Context& context) {
  auto lock = locked();
  Driver::instance().changed.wait(lock, [&] { return context.over(); });
}

Call::Call(const char* name, Needs needs, std::initializer_list<Field> fields)
    : name_(name), needs_(needs), line_("cuda", name), outer_(call_number), context_(current_context()) {
  call_number = line_.id();
  for (const Field& field : fields) line_.add(field);
}

Call::~Call() { call_number = outer_; }

int Call::begin() {
  const int asked = asked_failure(name_);
  while (asked == kHang) ::pause();
  if (asked != kNoFailure) {
    const auto lock = locked();
    if (context_ && is_sticky(asked)) context_->fail(asked);
    return asked;
  }
  return stand_in_the_way();
}

int Call::stand_in_the_way() {
  if (needs_ == Needs::nothing) return kSuccess;
  if (in_host_function) return kNotPermitted;
  const auto lock = locked();
  if (!Driver::instance().ready) return kNotInitialized;
  if (needs_ == Needs::driver) return kSuccess;
  if (!context_) return kInvalidContext;
  if (context_->ended) return kContextDestroyed;
  if (context_->sticky) return context_->sticky;
  return needs_ == Needs::unsafe ? refused_by_capture() : kSuccess;
}

int Call::finish(int result) {
  line_.finish(result);
  return result;
}

}  // namespace jitc::fakes

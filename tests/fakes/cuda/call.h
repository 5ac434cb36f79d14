// The frame around every exported function of the fake driver: log line, failures that a test asked for,
// initialization, current context, sticky error, prohibitions during capture. No exception leaves it.
#pragma once
#include <initializer_list>

#include "../common/call_log.h"
#include "context.h"

namespace jitc::fakes {

enum class Needs {
  nothing,
  driver,   // cuInit before
  context,  // also a current context without a sticky error
  unsafe,   // also no stream capture that prohibits the call
};

class Call {
 public:
  Call(const char* name, Needs needs, std::initializer_list<Field> fields);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  /// What stands against the call before it does anything, or 0.
  int begin();
  int finish(int result);
  void note(const Field& field) { line_.add(field); }

  Context& context() { return *context_; }

 private:
  int stand_in_the_way();

  const char* const name_;
  const Needs needs_;
  CallLine line_;
  uint64_t outer_;
  ContextPointer context_;
};

template <class Body>
int call(const char* name, Needs needs, std::initializer_list<Field> fields, Body&& body) {
  Call one(name, needs, fields);
  if (const int failure = one.begin()) return one.finish(failure);
  try {
    body(one);
    return one.finish(kSuccess);
  } catch (const Failure& failure) {
    return one.finish(failure.code);
  }
}

/// The number of the call that this thread is in, for the log.
uint64_t current_call();
/// The calling thread's current context; may be null.
ContextPointer& current_context();
/// Returns when the context is over.
void hang_until_over(Context& context);

inline std::unique_lock<std::mutex> locked() { return std::unique_lock(Driver::instance().mutex); }

template <class T>
T* needed(T* pointer) {
  if (!pointer) throw Failure{kInvalidValue};
  return pointer;
}

}  // namespace jitc::fakes

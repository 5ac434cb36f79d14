// Functions of a library that calls name by their identifier, found at run time; and the outcome of a call.
//
// Used by blas/ and dnn/. Promise: a function that the library lacks is refused with its name when it is
// called.
#pragma once
#include <string>
#include <vector>

#include "arguments.h"

namespace jitc::cuda {

class LibraryFunctions {
 public:
  LibraryFunctions() = default;
  /// name: of the library, for messages. table: by identifier.
  LibraryFunctions(const char* name, std::span<const CallFunction> table, void* library);
  /// Returns the function. Throws OpError: there is none, or it changes another kind of object.
  const CallFunction& find(uint32_t id, ops::ObjectKind changes = kNothing) const;
  /// Calls the function and returns the library's status. Throws OpError if this library lacks it.
  int32_t call(const CallFunction& function, CallArguments& arguments) const;

 private:
  const char* name_ = "";
  std::span<const CallFunction> table_;
  std::vector<void*> entries_;
};

/// Refusal by the library. Caught where its status is an answer; elsewhere it becomes an OpError.
struct LibraryFailure {
  int32_t status;
  const char* function;
  std::string words;
};

/// Outcome of a call: the library's status, then results, or its message on a failure.
struct CallOutcome {
  int32_t status = 0;
  std::vector<std::byte> bytes;
  const char* function = "";
  /// Packs the outcome as ops answer it.
  std::vector<std::byte> packed() const;
  std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// Returns the outcome of work(outcome); a refusal by the library is one too.
template <class Work>
CallOutcome attempt(Work&& work) {
  CallOutcome outcome;
  try {
    work(outcome);
  } catch (const LibraryFailure& failure) {
    const auto* const words = reinterpret_cast<const std::byte*>(failure.words.data());
    return {failure.status, {words, words + failure.words.size()}, failure.function};
  }
  return outcome;
}

}  // namespace jitc::cuda

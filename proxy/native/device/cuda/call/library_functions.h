// The functions of a library that calls name by their identifier, found at run time; and what a call came to.
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
  /// Throws OpError: there is no such function, or it changes another kind of object.
  const CallFunction& find(uint32_t id, ops::ObjectKind changes = kNothing) const;
  /// The library's status. Throws OpError: this one does not have the function.
  int32_t call(const CallFunction& function, CallArguments& arguments) const;

 private:
  const char* name_ = "";
  std::span<const CallFunction> table_;
  std::vector<void*> entries_;
};

/// The library said no. Caught where its status is an answer; elsewhere it becomes an OpError.
struct LibraryFailure {
  int32_t status;
  const char* function;
  std::string words;
};

/// What a call gave: the library's status, then results, or its words on a failure.
struct CallOutcome {
  int32_t status = 0;
  std::vector<std::byte> bytes;
  const char* function = "";
  /// As ops answer.
  std::vector<std::byte> packed() const;
  std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// The outcome of what work(outcome) does; the library's refusal is one too.
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

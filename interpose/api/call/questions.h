// Questions to the libraries of the sessions' workers, and cache of their answers.
//
// Used by dnn_call.cpp and lt_call.cpp. Promises: an answered question is not asked again; an answer that the
// worker could not give, or that may change, is not cached.
#pragma once
#include <string>
#include <vector>

#include "api/module/images.h"
#include "session/session.h"

namespace jitc::api {

/// Status of the library, and bytes: the result, or the library's message on a failure.
struct Answer {
  Status status;
  std::vector<std::byte> bytes;
  bool from_library = true;  // else the worker gave none, and the reason
  std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};
/// Returns the worker's result as an answer; failed: the library's status if the worker gives none, which is
/// reported once.
Answer read_answer(const session::Result& result, const char* name, Status failed);

/// Returns a cached answer. False: the question was not answered yet, or the answer is forgotten.
bool known_answer(const Session& session, const ImageHash& question, Answer* out);
void keep_answer(const Session& session, const ImageHash& question, const Answer& answer);

/// Returns the answer to an op with that payload. failed: as for read_answer; transient: statuses from there
/// on may differ next time.
template <class Op>
Answer ask(Session& session, const Op& op, std::span<const std::byte> payload, const char* name,
           Status failed, Status transient) {
  const ImageHash question = hash_of(payload);
  Answer answer;
  if (known_answer(session, question, &answer)) return answer;
  answer = read_answer(session.call(op, payload), name, failed);
  if (answer.from_library && answer.status < transient) keep_answer(session, question, answer);
  return answer;
}

}  // namespace jitc::api

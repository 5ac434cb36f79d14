// See questions.h.
#include "questions.h"

#include <map>
#include <mutex>
#include <utility>

#include "jitc/packed_reader.h"
#include "session/message.h"

namespace jitc::api {
namespace {

/// Known answers by session and content of the question. A full table is cleared, which only costs time.
struct Known {
  static constexpr size_t kMost = 4096;
  std::mutex mutex;
  std::map<std::pair<const Session*, ImageHash>, Answer> answers;
};
Known& known() {
  static auto& out = *new Known;
  return out;
}

}  // namespace

Answer read_answer(const session::Result& result, const char* name, Status failed) {
  struct Head {
    Status status;
    uint32_t zero;
  } head{};
  PackedReader reader(result.payload);
  if (result.status || !reader.take(&head)) {
    const Answer none{failed, result.payload, false};
    session::message_once(std::string(name) + ": " + none.text());
    return none;
  }
  return {head.status, {reader.rest().begin(), reader.rest().end()}};
}

bool known_answer(const Session& session, const ImageHash& question, Answer* out) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().answers.find({&session, question});
  if (found == known().answers.end()) return false;
  *out = found->second;
  return true;
}

void keep_answer(const Session& session, const ImageHash& question, const Answer& answer) {
  const std::lock_guard lock(known().mutex);
  if (known().answers.size() >= Known::kMost) known().answers.clear();
  known().answers.insert_or_assign({&session, question}, answer);
}

}  // namespace jitc::api

// See message.h.
#include "message.h"

#include <unistd.h>

#include <mutex>
#include <set>

namespace jitc::session {
namespace {

// A program that runs for weeks must not grow by its messages. Full: each may be repeated once, which is
// better than losing a new one: the last one of a session says why it has ended.
constexpr size_t kRemembered = 1000;

struct Reported {
  std::mutex mutex;
  std::set<std::string> texts;
};

Reported& reported() {
  static auto* const instance = new Reported;  // threads may write while the process exits
  return *instance;
}

std::string& last_text() {
  thread_local std::string text;
  return text;
}

}  // namespace

void say(const std::string& text) {
  const std::string line = "jitc: " + text + "\n";
  // One write, so that lines of several ranks do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void message_once(const std::string& text) {
  {
    Reported& state = reported();
    const std::lock_guard lock(state.mutex);
    if (state.texts.contains(text)) return;
    if (state.texts.size() >= kRemembered) state.texts.clear();
    state.texts.insert(text);
  }
  say(text);
}

void set_last_message(std::string text) { last_text() = std::move(text); }
const char* last_message() { return last_text().c_str(); }

}  // namespace jitc::session

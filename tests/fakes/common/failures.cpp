// Failures that a test asks for, through JITC_FAKE_FAIL or the file named by JITC_FAKE_FAIL_FILE, which may
// change while the process runs. A rule is "function:N=result" (the N-th call), "function:N+=result" (from
// the N-th on); the result is a number or "hang". See README.md.
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "call_log.h"

namespace jitc::fakes {
namespace {
struct Rule {
  std::string function;
  uint64_t at = 1;
  bool onward = false;
  int result = 0;
  uint64_t seen = 0;
};

void add_rule(std::vector<Rule>& rules, const std::string& text) {
  const size_t equals = text.rfind('=');
  const size_t colon = text.find(':');
  if (equals == std::string::npos || colon == std::string::npos || colon > equals) std::abort();
  Rule rule{text.substr(0, colon)};
  rule.at = std::strtoull(text.c_str() + colon + 1, nullptr, 10);
  rule.onward = text[equals - 1] == '+';
  const std::string result = text.substr(equals + 1);
  rule.result = result == "hang" ? kHang : std::atoi(result.c_str());
  rules.push_back(rule);
}

std::vector<Rule> parse(std::string text) {
  for (char& each : text)
    if (each == ',' || each == ';') each = ' ';
  std::vector<Rule> rules;
  std::istringstream words(text);
  for (std::string word; words >> word;) add_rule(rules, word);
  return rules;
}

/// Counts this call for every rule of the function.
int match(std::vector<Rule>& rules, const char* function) {
  int result = kNoFailure;
  for (Rule& rule : rules) {
    if (rule.function != function) continue;
    ++rule.seen;
    if (rule.seen == rule.at || (rule.onward && rule.seen > rule.at)) result = rule.result;
  }
  return result;
}

class Failures {
 public:
  Failures() : file_(std::getenv("JITC_FAKE_FAIL_FILE")) {
    if (const char* text = std::getenv("JITC_FAKE_FAIL")) fixed_ = parse(text);
  }

  int ask(const char* function) {
    if (!file_ && fixed_.empty()) return kNoFailure;
    const std::lock_guard lock(mutex_);
    if (file_) reload();
    const int from_file = match(changing_, function), from_start = match(fixed_, function);
    return from_file != kNoFailure ? from_file : from_start;
  }

 private:
  void reload() {
    struct stat now = {};
    if (::stat(file_, &now) != 0) return changing_.clear();
    if (now.st_mtim.tv_sec == seen_.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec &&
        now.st_size == seen_.st_size && now.st_ino == seen_.st_ino)
      return;
    seen_ = now;
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    changing_ = parse(text.str());
  }

  std::mutex mutex_;
  const char* const file_;
  struct stat seen_ = {};
  std::vector<Rule> fixed_, changing_;
};
}  // namespace

int asked_failure(const char* function) {
  static Failures* const failures = new Failures;  // never destroyed: threads call until the process ends
  return failures->ask(function);
}

}  // namespace jitc::fakes

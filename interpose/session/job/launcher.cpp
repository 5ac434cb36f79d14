#include "launcher.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string_view>

namespace jitc::session {
namespace {

/// More wrappers than that between a launcher and its rank are none.
constexpr int kMostAncestors = 16;
/// Bytes of an environment that are looked at.
constexpr size_t kMostEnvironment = 1 << 20;

/// Returns a file of another process in /proc; empty if it cannot be read.
std::string of_process(const std::string& pid, const char* name) {
  const int file = ::open(("/proc/" + pid + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string content;
  char part[4096];
  for (ssize_t count; content.size() < kMostEnvironment && (count = ::read(file, part, sizeof part)) > 0;)
    content.append(part, static_cast<size_t>(count));
  ::close(file);
  return content;
}

struct Process {
  std::string parent, started;  // in clock ticks after the machine's start
};

/// Returns facts of a process (proc(5), stat: fields 4 and 22); empty ones if it cannot be seen.
Process facts(const std::string& pid) {
  const std::string line = of_process(pid, "stat");
  size_t at = line.rfind(") ");  // the name before it may have any characters
  if (at == line.npos) return {};
  Process found;
  at += 2;
  for (int field = 3; field <= 22; ++field) {
    const size_t end = line.find(' ', at);
    if (end == line.npos) return {};
    if (field == 4) found.parent = line.substr(at, end - at);
    if (field == 22) found.started = line.substr(at, end - at);
    at = end + 1;
  }
  return found;
}

bool sets(std::string_view environment, const std::string& name) {
  const std::string start = name + "=";
  return environment.starts_with(start) || environment.find('\0' + start) != environment.npos;
}

}  // namespace

std::string launcher(const std::string& variable) {
  std::string pid = facts("self").parent;
  for (int step = 0; step < kMostAncestors && !pid.empty() && pid != "0"; ++step) {
    const std::string environment = of_process(pid, "environ");
    const Process found = facts(pid);
    if (!found.started.empty() && !sets(environment, variable)) return pid + "." + found.started;
    pid = found.parent;
  }
  return {};
}

std::string this_process() { return std::to_string(::getpid()) + "." + facts("self").started; }

}  // namespace jitc::session

#include "environment.h"

#include <stdlib.h>
#include <sys/stat.h>

namespace jitc::session {
namespace {

/// Returns whether torchrun starts this rank again after a failure, with its present store.
bool attempts_share_a_store() {
  return first_number({"TORCHELASTIC_MAX_RESTARTS"}, 0) > 0 &&
         variable("TORCHELASTIC_USE_AGENT_STORE") == "True" && variable("JITC_STORE_PER_ATTEMPT") != "1";
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

bool service_expected(const std::string& socket) { return exists(socket) || has_folder(socket); }

}  // namespace

std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

long first_number(std::initializer_list<const char*> names, long fallback) {
  for (const char* name : names) {
    const std::string text = variable(name);
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (!text.empty() && *end == 0 && value >= 0 && value < 1'000'000'000) return value;
  }
  return fallback;
}

std::string service_socket(const std::string& system) {
  if (std::string named = variable("JITC_SOCKET"); !named.empty()) return named;
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  if (runtime.empty()) return system;
  std::string own = runtime + "/jitc/proxyd.sock";
  return service_expected(own) || !service_expected(system) ? own : system;
}

bool has_folder(const std::string& socket) {
  struct stat status{};
  return ::stat((socket + ".d").c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

uint32_t service_timeout_seconds() {
  return static_cast<uint32_t>(first_number({"JITC_SERVICE_TIMEOUT"}, 120));
}

/// Advises: PyTorch takes a shared store for a new one. It finds the previous attempt's ids of communicators
/// there, and its request to write dumps, after which it ends a healthy rank (client_shim/attempt_stores.py).
std::string advice_for_restarts(const std::string& why) {
  if (why.find("this communicator has ended") == why.npos || !attempts_share_a_store()) return {};
  return "; this torchrun keeps one store for all attempts (a defect of PyTorch): with LD_PRELOAD set for "
         "torchrun itself, --nnodes 1, and not JITC_STORE_PER_ATTEMPT=0, each attempt gets its own";
}

}  // namespace jitc::session

#include "environment.h"

#include <stdlib.h>

#include <initializer_list>
#include <string_view>

namespace jitc::session {
namespace {

/// Returns nothing in a program that runs with more rights than its caller (set-uid): the caller wrote the
/// environment and must not choose which service the program talks to.
std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

/// Returns the first of the variables that holds a number; otherwise fallback.
long first_number(std::initializer_list<const char*> names, long fallback) {
  for (const char* name : names) {
    const std::string text = variable(name);
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (!text.empty() && *end == 0 && value >= 0 && value < 1'000'000'000) return value;
  }
  return fallback;
}

/// Returns the bytes of the text's first character; 0: it is no UTF-8 (RFC 3629).
size_t sign_of_utf8(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t at = 1; at < size; ++at)
    if ((byte(at) & 0xc0) != 0x80) return 0;
  const bool too_long = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool no_sign = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return too_long || no_sign ? 0 : size;
}

/// Escapes bytes that are no UTF-8, which alone the service accepts.
std::string as_utf8(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty() && sign_of_utf8(rest) > 0) rest.remove_prefix(sign_of_utf8(rest));
  if (rest.empty()) return text;
  std::string shown;
  for (const char one : text) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(one);
    if (byte < 0x80)
      shown += one;
    else
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return shown;
}

/// Returns whether torchrun starts this rank again after a failure, with its present store.
bool attempts_share_a_store() {
  return first_number({"TORCHELASTIC_MAX_RESTARTS"}, 0) > 0 &&
         variable("TORCHELASTIC_USE_AGENT_STORE") == "True" && variable("JITC_STORE_PER_ATTEMPT") != "1";
}

}  // namespace

std::string service_socket() {
  if (std::string named = variable("JITC_SOCKET"); !named.empty()) return named;
  if (const std::string runtime = variable("XDG_RUNTIME_DIR"); !runtime.empty())
    return runtime + "/jitc/proxyd.sock";
  return "/run/jitc/proxyd.sock";
}

uint32_t service_timeout_seconds() {
  return static_cast<uint32_t>(first_number({"JITC_SERVICE_TIMEOUT"}, 120));
}

JobRank rank_in_job() {
  JobRank found;
  found.rank = static_cast<int32_t>(first_number({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, -1));
  found.world_size =
      static_cast<int32_t>(first_number({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 0));
  found.job = variable("TORCHELASTIC_RUN_ID");
  if (found.job == "none") found.job.clear();  // torchrun's default means none
  const std::string master = variable("MASTER_ADDR");
  if (found.job.empty() && !master.empty()) found.job = master + ":" + variable("MASTER_PORT");
  found.job = as_utf8(found.job);
  return found;
}

/// Advises: PyTorch takes a shared store for a new one. It finds the previous attempt's ids of communicators
/// there, and its request to write dumps, after which it ends a healthy rank (client_shim/attempt_stores.py).
std::string advice_for_restarts(const std::string& why) {
  if (why.find("this communicator has ended") == why.npos || !attempts_share_a_store()) return {};
  return "; this torchrun keeps one store for all attempts (a defect of PyTorch): with LD_PRELOAD set for "
         "torchrun itself, --nnodes 1, and not JITC_STORE_PER_ATTEMPT=0, each attempt gets its own";
}

}  // namespace jitc::session

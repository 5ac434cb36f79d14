#include "job_rank.h"

#include <fcntl.h>
#include <unistd.h>

#include <span>
#include <string_view>

#include "session/environment.h"
#include "session/job/launcher.h"

namespace jitc::session {
namespace {

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

/// Letters and digits of which Kubernetes makes the random ends of pods' names.
constexpr std::string_view kRandom = "bcdfghjklmnpqrstvwxz2456789";
constexpr size_t kRandomLength = 5;
constexpr const char* kNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Removes "-" and what follows it from the end, if that has only these characters.
bool cut(std::string* name, std::string_view of, size_t least, size_t most) {
  const size_t dash = name->rfind('-');
  if (dash == name->npos || dash == 0) return false;
  const std::string_view end = std::string_view(*name).substr(dash + 1);
  if (end.size() < least || end.size() > most || end.find_first_not_of(of) != end.npos) return false;
  name->resize(dash);
  return true;
}

/// Returns the name of a pod's job: without the random end, the number and the role that its controller adds.
std::string job_of_pod(std::string pod) {
  const bool random = cut(&pod, kRandom, kRandomLength, kRandomLength);
  if (cut(&pod, "0123456789", 1, 6) || !random)
    for (const char* role : {"-worker", "-master", "-launcher", "-chief", "-node"})
      if (pod.size() > std::string_view(role).size() && pod.ends_with(role)) {
        pod.resize(pod.size() - std::string_view(role).size());
        break;
      }
  return pod;
}

std::string pod_namespace() {
  if (std::string named = variable("POD_NAMESPACE"); !named.empty()) return named;
  char text[256];
  const int file = ::open(kNamespaceFile, O_RDONLY | O_CLOEXEC);
  const ssize_t count = file >= 0 ? ::read(file, text, sizeof text) : 0;
  if (file >= 0) ::close(file);
  return count > 0 ? std::string(text, static_cast<size_t>(count)) : std::string();
}

constexpr const char* kRanks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
constexpr const char* kSizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"};

int32_t number_of(std::span<const char* const> names, long fallback) {
  for (const char* name : names)
    if (const long value = first_number({name}, -1); value >= 0) return static_cast<int32_t>(value);
  return static_cast<int32_t>(fallback);
}

/// Returns what has started all ranks of the job here: this process itself if it is alone.
std::string launched_by() {
  for (const char* name : kRanks) {
    if (first_number({name}, -1) < 0) continue;
    const bool restarts = std::string_view(name) == kRanks[0];  // torchrun does, also a job of one rank
    return restarts || number_of(kSizes, 0) > 1 ? launcher(name) : this_process();
  }
  return this_process();
}

/// Returns the name that a scheduler has given the job, and what tells it apart; empty: there is none.
JobRank scheduled() {
  JobRank found;
  if (const std::string id = variable("SLURM_JOB_ID"); !id.empty()) {
    const std::string name = variable("SLURM_JOB_NAME"), step = variable("SLURM_STEP_ID");
    found.job = name.empty() ? "slurm-" + id : name + "-" + id;
    found.launch = "slurm " + id + "." + step + " " + launched_by();
  } else if (!variable("KUBERNETES_SERVICE_HOST").empty()) {
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    const std::string pod = variable("HOSTNAME");
    found.job = job_of_pod(pod.empty() ? host : pod);
    found.launch = "pod " + pod_namespace() + "/" + found.job;
  }
  return found;
}

/// Returns the name of torchrun's run, else where its ranks meet.
std::string run() {
  const std::string id = variable("TORCHELASTIC_RUN_ID");
  if (!id.empty() && id != "none") return id;  // torchrun's default means none
  const std::string master = variable("MASTER_ADDR");
  return master.empty() ? std::string() : master + ":" + variable("MASTER_PORT");
}

}  // namespace

JobRank rank_in_job() {
  JobRank found = scheduled();
  found.rank = number_of(kRanks, -1);
  found.world_size = number_of(kSizes, 0);
  if (found.launch.empty()) found.launch = launched_by();
  if (found.launch.empty()) found.launch = run();
  if (const std::string named = variable("JITC_JOB"); !named.empty()) found.job = named;
  if (found.job.empty()) found.job = run();
  found.job = as_utf8(found.job);
  found.launch = as_utf8(found.launch);
  return found;
}

}  // namespace jitc::session

#include "service_rpc.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "protobuf.h"
#include "session/job/job_rank.h"
#include "session/library.h"

namespace jitc::session {
namespace {

constexpr uint32_t kDescribeMs = 10'000;
constexpr int kDamagedReply = 13;  // INTERNAL

/// Makes the call. The answer holds the reply's bytes, or the error's text.
Answer call(const std::string& socket, const char* method, const wire::Writer& request, uint32_t timeout_ms) {
  const jitc_transport_api* api = transport();
  if (api == nullptr) return {-ENOENT, "the transport library is missing"};
  const std::string path = std::string("/jitc.v1.Node/") + method;
  jitc_bytes out{};
  Answer answer;
  answer.status = api->unary(socket.c_str(), path.c_str(), request.bytes().data(), request.bytes().size(),
                             static_cast<int>(timeout_ms), &out);
  answer.text.assign(reinterpret_cast<const char*>(out.data), out.size);
  api->release(&out);
  return answer;
}

Answer damaged(const char* method) {
  return {kDamagedReply, std::string("the service's answer to ") + method + " is damaged"};
}

std::string text(std::string_view bytes) { return std::string(bytes); }
uint32_t word(const wire::Reader& reader) { return static_cast<uint32_t>(reader.number()); }

/// Reads one entry of a map<int32, int32>: key and value are fields 1 and 2, left out when they are 0.
bool read_attribute(std::string_view bytes, std::map<int32_t, int32_t>* attributes) {
  wire::Reader reader(bytes);
  int32_t key = 0, value = 0;
  while (reader.next()) {
    if (reader.field() == 1) key = static_cast<int32_t>(reader.number());
    if (reader.field() == 2) value = static_cast<int32_t>(reader.number());
  }
  (*attributes)[key] = value;
  return reader.good();
}

bool read_gpu(std::string_view bytes, GpuInfo* gpu) {
  wire::Reader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        gpu->index = word(reader);
        break;
      case 2:
        gpu->device = text(reader.bytes());
        break;
      case 3:
        gpu->name = text(reader.bytes());
        break;
      case 4:
        gpu->uuid = text(reader.bytes());
        break;
      case 5:
        gpu->memory_total = reader.number();
        break;
      case 6:
        gpu->capability_major = word(reader);
        break;
      case 7:
        gpu->capability_minor = word(reader);
        break;
      case 8:
        gpu->multiprocessors = word(reader);
        break;
      case 9:
        if (!read_attribute(reader.bytes(), &gpu->attributes)) return false;
        break;
      case 10:
        gpu->cudnn = reader.number() != 0;
        break;
      case 11:
        gpu->runs_kernels = reader.number() != 0;
        break;
      case 12:
        gpu->check_order = reader.number() != 0;
        break;
      default:
        break;
    }
  }
  return reader.good();
}

bool read_attachment(std::string_view bytes, Attachment* out) {
  wire::Reader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        out->session = reader.number();
        break;
      case 2:
        out->token = text(reader.bytes());
        break;
      case 3:
        out->worker_socket = text(reader.bytes());
        break;
      case 4:
        out->address_base = reader.number();
        break;
      case 5:
        out->address_bytes = reader.number();
        break;
      case 7:
        out->pinned.base = reader.number();
        break;
      case 8:
        out->pinned.bytes = reader.number();
        break;
      default:
        break;
    }
  }
  out->pinned.token = out->token;
  return reader.good() && !out->token.empty() && !out->worker_socket.empty();
}

}  // namespace

Answer describe(const std::string& socket, std::vector<GpuInfo>* gpus) {
  wire::Writer request;
  request.number(1, kProtocolVersion);
  Answer answer = call(socket, "Describe", request, kDescribeMs);
  if (!answer.ok()) return answer;
  wire::Reader reader(answer.text);
  uint64_t version = 0;
  while (reader.next()) {
    if (reader.field() == 1) version = reader.number();
    if (reader.field() != 2) continue;
    if (!read_gpu(reader.bytes(), &gpus->emplace_back())) return damaged("Describe");
  }
  if (!reader.good()) return damaged("Describe");
  if (version != kProtocolVersion)
    return {static_cast<int>(Rpc::failed_precondition),
            "the service speaks protocol version " + std::to_string(version) + ", this library " +
                std::to_string(kProtocolVersion) + "; use the jitc library and service of one installation"};
  return answer;
}

Answer attach(const std::string& socket, uint32_t gpu, const std::string& token, const std::string& program,
              const Variables& variables, uint32_t wait_ms, Attachment* out) {
  const JobRank found = rank_in_job();
  wire::Writer request;
  request.number(1, kProtocolVersion);
  request.number(2, gpu);
  request.signed_number(3, ::getpid());
  request.signed_number(4, found.rank);
  request.signed_number(5, found.world_size);
  request.text(6, token);
  request.number(7, wait_ms);
  request.text(8, found.job);
  request.text(9, program);
  for (const auto& [name, value] : variables) request.entry(10, name, value);
  request.text(11, found.launch);
  // The service answers within wait_ms, or a little later when it opens the session on a worker.
  Answer answer = call(socket, "Attach", request, wait_ms + 35'000);
  if (answer.ok() && !read_attachment(answer.text, out)) return damaged("Attach");
  return answer;
}

Answer detach(const std::string& socket, const std::string& token, uint32_t timeout_ms) {
  wire::Writer request;
  request.text(1, token);
  return call(socket, "Detach", request, timeout_ms);
}

std::string explain(const std::string& socket, const Answer& answer) {
  if (answer.of_keeper)
    return "the keeper of the node service on the socket " + socket + " cannot be reached: " + answer.text;
  if (answer.status == -EACCES || answer.status == -EPERM)
    return "the socket " + socket + " belongs to another user; start a service of your own " +
           "(jitc-proxyd --device software --gpus N --socket PATH) and set JITC_SOCKET=PATH";
  if (answer.status == -ENAMETOOLONG)
    return "the socket path " + socket + " is too long; set JITC_SOCKET to a shorter one";
  if (answer.status < 0)
    return "no node service on the socket " + socket +
           "; start it with: " + "jitc-proxyd --device software --gpus N --socket " + socket;
  if (answer.is(Rpc::deadline_exceeded))
    return "the node service on the socket " + socket +
           " does not answer; if it is stopped, continue it (kill -CONT)";
  return "the node service on " + socket + ": " + answer.text;
}

}  // namespace jitc::session

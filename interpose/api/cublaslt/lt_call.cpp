// See lt_call.h.
#include "lt_call.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "api/cublas/blas_handle.h"
#include "api/cublas/blas_types.h"
#include "blaslt_objects.h"
#include "jitc/packed_reader.h"
#include "session/message.h"

namespace jitc::api {
namespace {

constexpr int32_t kScaleType = 1, kPointerMode = 2;  // attributes of a descriptor
// cublasLtPointerMode_t
enum PointerMode { kModeHost = 0, kModeAlphaDeviceBetaZero = 3, kModeAlphaDeviceBetaHost = 4 };

struct Answer {
  Status status = kSuccess;
  std::vector<Heuristic> results;
};
/// Answers by session and question. Full: all are forgotten, which only costs time.
struct Answers {
  static constexpr size_t kMost = 4096;
  std::mutex mutex;
  std::map<std::pair<const Session*, std::string>, Answer> known;
};
Answers& answers() {
  static auto& out = *new Answers;
  return out;
}

bool look_up(const std::pair<const Session*, std::string>& question, Answer* out) {
  const std::lock_guard lock(answers().mutex);
  const auto found = answers().known.find(question);
  if (found == answers().known.end()) return false;
  *out = found->second;
  return true;
}
void keep(std::pair<const Session*, std::string> question, const Answer& answer) {
  const std::lock_guard lock(answers().mutex);
  if (answers().known.size() >= Answers::kMost) answers().known.clear();
  answers().known.insert_or_assign(std::move(question), answer);
}

/// The session that a cuBLAS handle belongs to; a cuBLASLt handle belongs to none and goes with the thread.
Session* session_for(uint64_t lt, Status* status) {
  Blas blas;
  if (find_blas(lt, &blas) && blas.session) return blas.session;
  return current_session(status);
}

/// The description of the ops; empty: a handle is not what it should be.
std::vector<std::byte> describe(const LtHandles& h) {
  std::vector<std::byte> out;
  out.reserve(1024);
  bool good = append_desc_record(h.desc, out);
  for (const uint64_t layout : {h.a, h.b, h.c, h.d}) good = good && append_layout_record(layout, out);
  if (h.preference) good = good && append_preference_record(h.preference, out);
  return good ? out : std::vector<std::byte>{};
}

/// The worker's answer, or the reason why it gave none.
Answer read_answer(const session::Result& result) {
  Answer answer{kBlasInternalError, {}};
  struct Head {
    Status status;
    uint32_t count;
  } head;
  if (result.status) {
    const auto* text = reinterpret_cast<const char*>(result.payload.data());
    session::message_once("cublasLtMatmulAlgoGetHeuristic: " + std::string(text, result.payload.size()));
    return answer;
  }
  PackedReader reader(result.payload);
  if (reader.take(&head) && reader.list(head.count, &answer.results)) answer.status = head.status;
  return answer;
}

Status give(const Answer& answer, int32_t requested, Heuristic* results, int32_t* count) {
  const auto fits = std::min(answer.results.size(), static_cast<size_t>(requested));
  std::copy_n(answer.results.begin(), fits, results);
  *count = static_cast<int32_t>(fits);
  return answer.status;
}

bool on_device(const void* at) { return Node::instance().owner(reinterpret_cast<uint64_t>(at)) != nullptr; }

/// alpha or beta: the value of the scale type, or its address.
Status pack(const void* at, bool by_address, uint32_t bytes, ops::BlasSlot* slot) {
  if (by_address) {
    slot->kind = static_cast<uint32_t>(ops::BlasSlotKind::address);
    slot->bytes = sizeof at;
    std::memcpy(slot->value.data(), &at, sizeof at);
    return kSuccess;
  }
  if (!at || on_device(at)) return kBlasInvalidValue;
  slot->kind = static_cast<uint32_t>(ops::BlasSlotKind::scalar);
  slot->bytes = bytes;
  std::memcpy(slot->value.data(), at, bytes);
  return kSuccess;
}

struct Scalars {
  ops::BlasSlot alpha, beta;
};
Status pack_scalars(const LtRecord& desc, const LtProduct& product, Scalars* out) {
  const int32_t mode = desc.number(kPointerMode, kModeHost);
  const uint32_t bytes = element_bytes(desc.number(kScaleType, static_cast<int32_t>(desc.argument(1))));
  if (!bytes || mode < kModeHost || mode > kModeAlphaDeviceBetaHost) return kBlasNotSupported;
  const bool beta_on_host = mode == kModeHost || mode == kModeAlphaDeviceBetaHost;
  if (!product.alpha) return kBlasInvalidValue;
  if (const Status status = pack(product.alpha, mode != kModeHost, bytes, &out->alpha)) return status;
  // Nobody looks at beta where it is zero by mode.
  const void* beta = mode == kModeAlphaDeviceBetaZero ? nullptr : product.beta;
  return pack(beta, !beta_on_host, bytes, &out->beta);
}

}  // namespace

Status ask_heuristic(const LtHandles& handles, int32_t requested, Heuristic* results, int32_t* count) {
  Status status = kSuccess;
  Session* session = session_for(handles.lt, &status);
  if (!session) return kBlasNotInitialized;
  const std::vector<std::byte> description = describe(handles);
  if (description.empty()) return kBlasInvalidValue;
  ops::LtHeuristic op;
  op.bytes = description.size();
  op.requested = static_cast<uint32_t>(requested);
  std::pair<const Session*, std::string> question{session, std::to_string(requested) + ':'};
  question.second.append(reinterpret_cast<const char*>(description.data()), description.size());
  Answer answer;
  if (look_up(question, &answer)) return give(answer, requested, results, count);
  const session::Result result = session->call(op, description);
  answer = read_answer(result);
  if (!result.status) keep(std::move(question), answer);
  return give(answer, requested, results, count);
}

Status submit_lt_matmul(const LtHandles& handles, const LtProduct& product) {
  StreamRef stream;
  Blas blas;
  if (resolve_stream(product.stream, &stream)) return kBlasInvalidValue;
  if (find_blas(handles.lt, &blas) && blas.session != stream.session) return kBlasInvalidValue;
  LtRecord desc;
  if (!copy_desc_record(handles.desc, &desc)) return kBlasInvalidValue;
  Scalars scalars;
  if (const Status status = pack_scalars(desc, product, &scalars)) return status;
  const std::vector<std::byte> description = describe(handles);
  if (description.empty()) return kBlasInvalidValue;
  auto op = on_stream<ops::LtMatmul>(stream.id);
  op.a = product.a, op.b = product.b, op.c = product.c, op.d = product.d;
  op.workspace = product.workspace, op.workspace_bytes = product.workspace_bytes;
  op.bytes = description.size();
  op.algorithm = product.algorithm ? 1 : 0;
  const Algorithm none{};
  std::vector<std::byte> payload(sizeof scalars + sizeof none);
  std::memcpy(payload.data(), &scalars, sizeof scalars);
  std::memcpy(payload.data() + sizeof scalars, product.algorithm ? product.algorithm : &none, sizeof none);
  payload.insert(payload.end(), description.begin(), description.end());
  return stream.session->submit(op, payload) ? kSuccess : kBlasExecutionFailed;
}

}  // namespace jitc::api

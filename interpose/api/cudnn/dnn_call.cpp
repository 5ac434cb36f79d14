// See dnn_call.h.
#include "dnn_call.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>

#include "api/stream/capture.h"
#include "jitc/packed_reader.h"
#include "session/message.h"

namespace jitc::api {
namespace {

/// Questions of calls that the sessions' libraries have accepted. A full table is cleared, which only costs
/// time.
struct Accepted {
  static constexpr size_t kMost = 4096;
  std::mutex mutex;
  std::map<const Session*, std::unordered_set<uint64_t>> questions;
};
Accepted& accepted() {
  static auto& out = *new Accepted;
  return out;
}

/// Returns the answer; keeps the library's message of a failure for cudnnGetLastErrorString.
Answer reported(Answer answer) {
  constexpr Status kOtherStatus = 1000;  // statuses of one kind start at a multiple of it
  if (answer.status) dnn_failure(answer.status, answer.text());
  if (answer.status / kOtherStatus == kDnnBadParam / kOtherStatus) session::message_once(answer.text());
  return answer;
}

bool is_accepted(const Session* session, uint64_t question) {
  const std::lock_guard lock(accepted().mutex);
  return accepted().questions[session].contains(question);
}
void accept(const Session* session, uint64_t question) {
  const std::lock_guard lock(accepted().mutex);
  auto& questions = accepted().questions[session];
  if (questions.size() >= Accepted::kMost) questions.clear();
  questions.insert(question);
}

template <class Op>
Op with(const StreamRef& stream, const CallPayload& payload, uint32_t calls) {
  auto op = on_stream<Op>(stream.id);
  op.objects = payload.objects();
  op.calls = calls;
  op.bytes = payload.bytes().size();
  return op;
}

}  // namespace

uint32_t scalar_bytes(uint64_t descriptor) {
  DnnDescriptor found;
  for (const auto kind : {ops::ObjectKind::tensor, ops::ObjectKind::filter})
    if (find_descriptor(kind, descriptor, &found)) return found.record->data_type == kDnnF64 ? 8 : 4;
  return 4;  // the descriptor itself will be refused
}
int64_t size_of(uint64_t tensor, size_t dimension) {
  DnnDescriptor found;
  if (!find_descriptor(ops::ObjectKind::tensor, tensor, &found)) return 0;
  return dimension < found.record->sizes.size() ? found.record->sizes[dimension] : 0;
}
int64_t sum_of(const int32_t* numbers, int64_t count) {
  if (count > kMostNumbers) return -1;
  int64_t sum = 0;
  for (int64_t i = 0; numbers && i < count; ++i) {
    if (numbers[i] < 0) return -1;
    sum += numbers[i];
  }
  return sum;
}

DnnChange::DnnChange(ops::ObjectKind kind, uint64_t changed, const char*, uint32_t function)
    : kind_(kind), changed_(changed), function_(function) {}

DnnChange& DnnChange::sizes(const int32_t* at, int64_t count) {
  array(at, count);
  if (!status_) sizes_.assign(at, at + count);
  return *this;
}

Status DnnChange::apply() {
  if (status_) return status_;
  return change_descriptor(kind_, changed_, [this](DnnDescriptor& one) {
    if (data_type_ >= 0) one.record->data_type = data_type_;
    if (!sizes_.empty()) one.record->sizes = std::move(sizes_);
    one.record->repeat(function_, std::move(slots_));
  });
}

DnnCall::DnnCall(uint64_t handle, const char* name, uint32_t function) : name_(name), function_(function) {
  constexpr size_t kUsualSlots = 24;
  slots_.reserve(sizeof(ops::CallHead) + kUsualSlots * sizeof(ops::CallSlot));
  status_ = dnn_stream(handle, &stream_);
}

DnnCall& DnnCall::result(void* at, uint64_t bytes) {
  constexpr uint64_t kMost = 1 << 20;
  if (bytes > kMost) return fail(kDnnBadParam);
  slots_.result(bytes);
  wanted_.push_back({at, bytes});
  return *this;
}

Status DnnCall::ask() {
  if (status_) return status_;
  if (std::ranges::none_of(wanted_, [](const Wanted& one) { return one.at != nullptr; }))
    return kDnnNullPointer;
  CallPayload payload;
  payload.add_call(function_, slots_);
  const Answer answer = dnn_ask(stream_, payload, 1, name_);
  if (answer.status) return answer.status;
  PackedReader reader(answer.bytes);
  for (const Wanted& one : wanted_) {
    std::span<const std::byte> bytes;
    if (!reader.bytes(one.bytes, &bytes)) return kDnnInternalError;
    if (one.at) std::memcpy(one.at, bytes.data(), bytes.size());
  }
  return kSuccess;
}

Status DnnCall::run() {
  if (status_) return status_;
  CallPayload payload;
  payload.add_call(function_, slots_);
  const auto bytes = payload.bytes();
  const uint64_t question = payload.question();
  if (is_accepted(stream_.session, question) || capture_of(stream_).id) {
    const auto op = with<ops::DnnCall>(stream_, payload, 1);
    return stream_.session->submit(op, bytes) ? kSuccess : kDnnExecutionFailed;
  }
  const auto op = with<ops::DnnTry>(stream_, payload, 1);
  const Answer answer = dnn_answer(stream_.session->call(op, bytes), name_);
  if (!answer.status) accept(stream_.session, question);
  return answer.status;
}

Answer dnn_answer(const session::Result& result, const char* name) {
  return reported(read_answer(result, name, kDnnInternalError));
}

/// Asks. The bytes show whether a call follows: without one nothing comes behind the objects.
Answer dnn_ask(const StreamRef& stream, const CallPayload& payload, uint32_t calls, const char* name) {
  const auto op = with<ops::DnnAsk>(stream, payload, calls);
  return reported(ask(*stream.session, op, payload.bytes(), name, kDnnInternalError, kDnnInternalError));
}

bool dnn_version(Session& session, uint64_t* version) {
  CallSlots slots;
  slots.result(sizeof *version);
  CallPayload payload;
  payload.add_call(ops::kDnnGetVersion, slots);
  const Answer answer = dnn_ask({&session, 0, 0}, payload, 1, "cudnnCreate");
  return !answer.status && unpack(answer.bytes, version);
}

}  // namespace jitc::api

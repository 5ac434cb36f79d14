// cuDNN's version is always known; whatever else is asked gets the next answer that the test prepared, or
// success and zeros where there is none.
#include "standin_dnn.h"

#include <cstring>
#include <deque>
#include <mutex>

#include "jitc/generated_dnn.h"

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

using namespace jitc;
using Bytes = std::vector<std::byte>;

constexpr uint64_t kVersion = 91900;
constexpr size_t kZeros = 1024;

struct Told {
  std::mutex mutex;
  std::deque<Bytes> answers;
};
Told& told() {
  static auto& out = *new Told;
  return out;
}

Bytes packed(int32_t status, const void* bytes, size_t size) {
  Bytes out(2 * sizeof status + size);
  std::memcpy(out.data(), &status, sizeof status);
  if (size) std::memcpy(out.data() + 2 * sizeof status, bytes, size);
  return out;
}

bool asks_version(const Bytes& record) {
  const auto& op = *reinterpret_cast<const ops::DnnAsk*>(record.data());
  if (static_cast<ops::OpId>(op.header.op) != ops::OpId::dnn_ask || op.objects || !op.calls) return false;
  const auto& call = *reinterpret_cast<const ops::CallHead*>(record.data() + sizeof op);
  return call.function == ops::kDnnGetVersion;
}

Bytes next() {
  const std::lock_guard lock(told().mutex);
  if (told().answers.empty()) return packed(0, Bytes(kZeros).data(), kZeros);
  Bytes out = std::move(told().answers.front());
  told().answers.pop_front();
  return out;
}

}  // namespace

bool fake_dnn::answer(const Bytes& record, session::Result& out) {
  switch (static_cast<ops::OpId>(reinterpret_cast<const ops::OpHeader*>(record.data())->op)) {
    case ops::OpId::dnn_ask:
    case ops::OpId::dnn_try:
    case ops::OpId::dnn_execute_try:
      out.payload = asks_version(record) ? packed(0, &kVersion, sizeof kVersion) : next();
      return true;
    default:
      return false;
  }
}

/// The answer to the next op that waits for cuDNN's status.
FAKE_API void jitc_fake_dnn_answer(int32_t status, const void* bytes, size_t size) {
  const std::lock_guard lock(told().mutex);
  told().answers.push_back(packed(status, bytes, size));
}
/// Drops what was prepared; the number of answers that nobody has asked for.
FAKE_API size_t jitc_fake_dnn_forget(void) {
  const std::lock_guard lock(told().mutex);
  const size_t left = told().answers.size();
  told().answers.clear();
  return left;
}

// Stand-in for libjitc_operators.so. The first byte of a call says how it ends: 0 adds one to the int32 at
// the address that follows, 1 raises, 2 is malformed, 3 asserts. A query returns its call.
#include <cstring>
#include <string>

#include "jitc/operators_api.h"

namespace {
thread_local std::string text;

int answer(int status, const std::string& message, jitc_operator_reply* reply) {
  text = message;
  reply->data = reinterpret_cast<uint8_t*>(text.data());
  reply->size = text.size();
  return status;
}

int call(const jitc_operator_host* host, const uint8_t* call, size_t size, jitc_operator_reply* reply) {
  if (size < 16 || call[0] == 2) return answer(2, "malformed call", reply);
  if (call[0] == 1) return answer(1, "mat1 and mat2 shapes cannot be multiplied", reply);
  if (call[0] == 3) return answer(3, "index 5 is out of range", reply);
  uint64_t address = 0;
  std::memcpy(&address, call + 8, sizeof address);
  auto* const value = static_cast<int32_t*>(host->translate(host->context, address, sizeof(int32_t)));
  if (!value) return answer(2, "bad address", reply);
  ++*value;
  return 0;
}

int query(const jitc_operator_host*, const uint8_t* call, size_t size, jitc_operator_reply* reply) {
  if (size < 16 || call[0] == 2) return answer(2, "malformed call", reply);
  if (call[0] == 1) return answer(1, "no such operator", reply);
  if (call[0] == 3) return answer(3, "index 6 is out of range", reply);
  return answer(0, std::string(reinterpret_cast<const char*>(call), size), reply);
}

int matmul(const jitc_operator_host*, const void*, size_t, jitc_operator_reply* reply) {
  return answer(1, "matmul of the library", reply);
}
void set_threads(int) {}
void set_noise(uint64_t) {}
int accesses(const uint8_t* call, size_t size, int query, void* context,
             void (*take)(void*, const jitc_tensor_access*)) {
  if (size < 16 || call[0] == 2) return 2;
  jitc_tensor_access access{0, sizeof(int32_t), 0, nullptr, nullptr, !query};
  std::memcpy(&access.address, call + 8, sizeof access.address);
  take(context, &access);
  return 0;
}
}  // namespace

const jitc_operators* jitc_operators_get(void) {
  static const jitc_operators functions{5, set_threads, call, query, matmul, set_noise, accesses};
  return &functions;
}

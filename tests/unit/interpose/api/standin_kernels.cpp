// The service keeps images, kernels have the layouts that the test gave them, variables lie where it said.
#include "standin_kernels.h"

#include <cstring>
#include <mutex>

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

using namespace jitc;
using session::Result;
using Record = std::vector<std::byte>;
using Hash = std::array<uint8_t, 16>;

constexpr uint32_t kInvalidImage = 200, kNotFound = 500, kInvalidClusterSize = 912;
constexpr uint32_t kMostCluster = 8;
constexpr uint32_t kUnsupportedLimit = 215;
constexpr int32_t kNoLimit = 3;

struct Variable {
  uint64_t address, bytes;
};
struct Told {
  std::mutex mutex;
  std::map<Hash, uint64_t> arrived;  // bytes of each image, over all sessions
  std::map<std::string, Record> kernels;
  std::map<std::string, Variable> variables;
};
Told& told() {
  static auto& out = *new Told;
  return out;
}

template <class Op>
const Op& as(const Record& record) {
  return *reinterpret_cast<const Op*>(record.data());
}
template <class Op>
std::string name_of(const Record& record) {
  return {reinterpret_cast<const char*>(record.data() + sizeof(Op)), as<Op>(record).bytes};
}
template <class T>
void put(Result& out, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  out.payload.insert(out.payload.end(), from, from + sizeof value);
}

void part(const ops::ImagePart& op) {
  uint64_t& have = told().arrived[op.hash];
  if (op.offset == have) have += op.bytes;
}

void function(const Record& record, Result& out) {
  const auto found = told().kernels.find(name_of<ops::FunctionGet>(record));
  if (found == told().kernels.end())
    out.status = kNotFound;
  else
    out.payload = found->second;
}

const Variable* variable(const std::string& name, Result& out) {
  const auto found = told().variables.find(name);
  if (found != told().variables.end()) return &found->second;
  out.status = kNotFound;
  return nullptr;
}

void variable(const Record& record, FakeKernels::Memory& memory, Result& out) {
  const Variable* const found = variable(name_of<ops::VariableGet>(record), out);
  if (!found) return;
  memory[found->address].resize(found->bytes);
  put(out, *found);
}

/// Another memory than behind the address: who has both sees which one ops name.
void alias(const Record& record, FakeKernels::Memory& memory, Result& out) {
  const Variable* const found = variable(name_of<ops::VariableAlias>(record), out);
  if (!found) return;
  memory[as<ops::VariableAlias>(record).alias].resize(found->bytes);
  put(out, found->bytes);
}

}  // namespace

bool FakeKernels::answer(const Record& record, Memory& memory, Result& out) {
  const std::lock_guard lock(told().mutex);
  switch (static_cast<ops::OpId>(as<ops::OpHeader>(record).op)) {
    case ops::OpId::image_query: {
      const auto& op = as<ops::ImageQuery>(record);
      const auto found = told().arrived.find(op.hash);
      put(out, uint32_t{found != told().arrived.end() && found->second == op.bytes});
      return true;
    }
    case ops::OpId::image_part:
      part(as<ops::ImagePart>(record));
      return true;
    case ops::OpId::module_load: {
      const auto& op = as<ops::ModuleLoad>(record);
      if (told().arrived[op.hash] != op.bytes) out.status = kInvalidImage;
      return true;
    }
    case ops::OpId::function_get:
      function(record, out);
      return true;
    case ops::OpId::function_query: {
      const auto& op = as<ops::FunctionQuery>(record);
      if (op.cluster > kMostCluster) out.status = kInvalidClusterSize;
      put(out, uint64_t{op.kind} * 1000000 + op.block + op.shared + op.cluster);
      return true;
    }
    case ops::OpId::variable_get:
      variable(record, memory, out);
      return true;
    case ops::OpId::variable_alias:
      alias(record, memory, out);
      return true;
    case ops::OpId::tensor_map: {
      const auto& op = as<ops::TensorMap>(record);
      if (op.address % 16) out.status = 1;
      put(out, op.sizes);  // as good as any 128 bytes
      return true;
    }
    case ops::OpId::limit_set: {
      const auto& op = as<ops::LimitSet>(record);
      if (op.limit == kNoLimit) out.status = kUnsupportedLimit;
      put(out, (op.value + 15) / 16 * 16);
      return true;
    }
    case ops::OpId::capture_end:
      put(out, uint64_t{3});
      return true;
    default:
      return false;
  }
}

/// reply: FunctionInfo, then its parameters.
FAKE_API void jitc_fake_kernel(const char* name, const void* reply, size_t size) {
  const std::lock_guard lock(told().mutex);
  const auto* from = static_cast<const std::byte*>(reply);
  told().kernels[name].assign(from, from + size);
}
FAKE_API void jitc_fake_variable(const char* name, uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(told().mutex);
  told().variables[name] = {address, bytes};
}

#include "kernels.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "api/common/handles.h"
#include "api/generated/generated_api.h"
#include "jitc/packed_reader.h"
#include "kernel_table.h"
#include "registration.h"

namespace jitc::api {
namespace {

struct Kernels {
  KernelTable table;
  std::mutex mutex;
  std::map<std::pair<const ModuleImage*, std::string>, uint64_t> handles;  // given out
};
Kernels& kernels() {
  static auto& out = *new Kernels;
  return out;
}

/// Returns a limit; one that the service does not report is left for the device to check.
uint32_t device_limit(int device, int32_t attribute) {
  int32_t value = 0;
  (void)cudaDeviceGetAttribute(&value, attribute, device);
  return value > 0 ? static_cast<uint32_t>(value) : UINT32_MAX;
}

void set_limits(Function& function, int device) {
  function.most_threads_in_block = device_limit(device, kMaxThreadsPerBlock);
  function.multiprocessors = device_limit(device, kMultiprocessors);
  for (int32_t i = 0; i < 3; ++i) {
    function.most_threads[static_cast<size_t>(i)] = device_limit(device, kMaxBlockX + i);
    function.most_blocks[static_cast<size_t>(i)] = device_limit(device, kMaxGridX + i);
  }
}

/// Reads a FunctionInfo, then its parameters. False: the reply violates the protocol.
bool decode(Function& function, std::span<const std::byte> reply) {
  ops::FunctionInfo info;
  PackedReader reader(reply);
  if (!reader.take(&info) || !reader.list(info.parameters, &function.parameters)) return false;
  int32_t values[Function::kAttributes];
  std::memcpy(values, &info, sizeof values);
  for (size_t i = 0; i < Function::kAttributes; ++i) function.attributes[i] = values[i];
  constexpr uint64_t kMostParameterBytes = 1u << 16;
  for (const auto& one : function.parameters)
    function.buffer_bytes = std::max(function.buffer_bytes, uint64_t{one.offset} + one.bytes);
  return function.buffer_bytes <= kMostParameterBytes;
}

}  // namespace

static_assert(offsetof(ops::FunctionInfo, cluster_policy) == 15 * sizeof(int32_t));

Function* Kernel::on(Session& session, int device, Status* why) {
  auto& here = functions_[static_cast<size_t>(device)];
  if (Function* known = here.load(std::memory_order_acquire)) return known;
  const std::lock_guard making(latch_);
  if (Function* known = here.load(std::memory_order_acquire)) return known;
  Function* found = get(session, device, why).release();
  here.store(found, std::memory_order_release);
  return found;
}

std::unique_ptr<Function> Kernel::get(Session& session, int device, Status* why) {
  ops::FunctionGet op;
  op.module = image_.module_on(session, device, why);
  if (!op.module) return nullptr;
  auto out = std::make_unique<Function>();
  out->session = &session;
  out->handle = op.function = new_handle(Kind::function);
  op.bytes = name_.size();
  const session::Result result = session.call(op, std::as_bytes(std::span(name_)));
  *why = result.status ? from_result(result.status) : decode(*out, result.payload) ? kSuccess : kUnknown;
  if (*why) return nullptr;
  set_limits(*out, device);
  return out;
}

Kernel* known_kernel(uint64_t key) { return kernels().table.find(key); }

Kernel* find_kernel(uint64_t key) {
  if (Kernel* known = known_kernel(key)) return known;
  return registered_kernel(key);
}

void set_kernel(uint64_t key, Kernel* kernel) { kernels().table.set(key, kernel); }

Status get_kernel(ModuleImage& image, const char* name, int device, uint64_t* handle) {
  Status status = kSuccess;
  Session* session = session_of(device, &status);
  if (!session) return status;
  Kernels& all = kernels();
  std::unique_lock lock(all.mutex);
  const auto known = all.handles.find({&image, name});
  Kernel* kernel = known == all.handles.end() ? nullptr : known_kernel(known->second);
  lock.unlock();
  std::unique_ptr<Kernel> made;
  if (!kernel) made = std::make_unique<Kernel>(image, name), kernel = made.get();
  if (!kernel->on(*session, device, &status)) return status;
  lock.lock();
  const auto [at, added] = all.handles.try_emplace({&image, name}, 0);
  if (added) {
    at->second = new_handle(Kind::kernel);
    set_kernel(at->second, made.release());
  }
  *handle = at->second;
  return kSuccess;
}

void forget_kernels(const ModuleImage& image) {
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  auto one = all.handles.lower_bound({&image, std::string()});
  while (one != all.handles.end() && one->first.first == &image) {
    set_kernel(one->second, nullptr);
    one = all.handles.erase(one);
  }
}

Function* current_function(uint64_t key, Status unknown, Status* why) {
  Kernel* kernel = find_kernel(key);
  if (!kernel) return *why = unknown, nullptr;
  Session* session = current_session(why);
  return session ? kernel->on(*session, current_device(), why) : nullptr;
}

Status set_attribute(Function& function, int32_t attribute, int32_t value) {
  if (attribute < 0 || static_cast<size_t>(attribute) >= Function::kAttributes) return kInvalidValue;
  auto& known = function.attributes[static_cast<size_t>(attribute)];
  if (known == value) return kSuccess;
  ops::FunctionSet op;
  op.function = function.handle;
  op.attribute = attribute;
  op.value = value;
  const Status status = from_result(function.session->call(op).status);
  if (status) return status;
  known = value;
  const std::lock_guard lock(function.mutex);
  function.occupancy.clear();  // may depend on the attribute
  return kSuccess;
}

}  // namespace jitc::api

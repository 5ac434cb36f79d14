// Loads the operator library and turns its answers into results and errors; see operators.h.
#include "operators.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "base/operands.h"
#include "device/device_assert.h"
#include "device/software/errors/error.h"
#include "jitc/completion.h"

namespace jitc::software {
namespace {
constexpr uint32_t kVersion = 5;

/// View of a running operator: memory as its op sees it, and compiled kernels.
struct View {
  const Memory& memory;
  uint64_t sequence;
  const Modules* modules = nullptr;
};

void* translate(void* context, uint64_t address, uint64_t bytes) {
  const View& view = *static_cast<const View*>(context);
  return view.memory.find(address, bytes, view.sequence);
}

jitc_host_entry kernel(void* context, uint64_t function) {
  return static_cast<const View*>(context)->modules->find(function);
}

const uint8_t* bytes_of(const ops::OpHeader& op) { return reinterpret_cast<const uint8_t*>(&op); }

std::string text(const jitc_operator_reply& reply) {
  return {reinterpret_cast<const char*>(reply.data), reply.data ? reply.size : 0};
}

/// raised: the status of an operator that raised an exception.
void check(int answer, uint32_t raised, const jitc_operator_reply& reply) {
  if (answer == 1) refuse(raised, "operator-error", text(reply));
  if (answer == 3) refuse(kAssert, kDeviceAssert, text(reply));
  if (answer != 0) refuse(kIllegalAddress, "illegal-address", text(reply));
}

void refuse_missing() {
  refuse(
      kNotSupported, "not-supported",
      "this worker was started without the operator library (libjitc_operators.so): PyTorch operators cannot "
      "run on the software device");
}

const jitc_operators* load(const std::string& path, std::string& error) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = std::string("cannot load the operator library: ") + dlerror();
    return nullptr;
  }
  const auto get = reinterpret_cast<decltype(&jitc_operators_get)>(dlsym(library, "jitc_operators_get"));
  const jitc_operators* const functions = get ? get() : nullptr;
  if (!functions || functions->version != kVersion) {
    error = path + " is not an operator library of version 5: build it again";
    return nullptr;
  }
  return functions;
}
}  // namespace

std::shared_ptr<const Operators> Operators::open(const std::string& path, int threads, uint64_t noise,
                                                 std::string& error) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Operators>> opened;
  const std::lock_guard lock(mutex);
  if (const auto found = opened.find(path); found != opened.end()) return found->second;
  auto operators = std::make_shared<Operators>();
  if (!path.empty()) {
    operators->functions_ = load(path, error);
    if (!operators->functions_) return nullptr;
    if (threads > 0) operators->functions_->set_threads(threads);
    operators->functions_->set_noise(noise);
  }
  return opened[path] = operators;
}

void Operators::call(const Memory& memory, const Modules& modules, const ops::OpHeader& op) const {
  if (!functions_) refuse_missing();
  View view{memory, op.sequence, &modules};
  const jitc_operator_host host{&view, translate, memory.limit(), kernel};
  jitc_operator_reply reply{};
  const int answer = functions_->call(&host, bytes_of(op) + sizeof op, op.size - sizeof op, &reply);
  check(answer, kLaunchFailure, reply);
}

std::span<const std::byte> Operators::query(const Memory& memory, const ops::OpHeader& op) const {
  if (!functions_) refuse_missing();
  View view{memory, op.sequence};
  const jitc_operator_host host{&view, translate, memory.limit(), nullptr};
  jitc_operator_reply reply{};
  const int answer = functions_->query(&host, bytes_of(op) + sizeof op, op.size - sizeof op, &reply);
  check(answer, kStatusOperator, reply);
  return {reinterpret_cast<const std::byte*>(reply.data), reply.data ? reply.size : 0};
}

void Operators::matmul(const Memory& memory, const ops::OpHeader& op) const {
  if (!functions_) return plain_matmul(memory, as<ops::Matmul>(op));
  View view{memory, op.sequence};
  const jitc_operator_host host{&view, translate, memory.limit(), nullptr};
  jitc_operator_reply reply{};
  const int answer = functions_->matmul(&host, &op, sizeof(ops::Matmul), &reply);
  check(answer, kLaunchFailure, reply);
}

namespace {
void give(void* context, const jitc_tensor_access* access) {
  (*static_cast<const Operators::TakeAccess*>(context))(*access);
}
}  // namespace

bool Operators::accesses(const ops::OpHeader& op, const TakeAccess& take) const {
  const bool query = op.op == static_cast<uint16_t>(ops::OpId::operator_query);
  return functions_ && functions_->accesses(bytes_of(op) + sizeof op, op.size - sizeof op, query,
                                            const_cast<TakeAccess*>(&take), give) == 0;
}

}  // namespace jitc::software

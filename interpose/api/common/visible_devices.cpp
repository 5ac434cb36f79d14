// GPUs of the service that this process sees (CUDA_VISIBLE_DEVICES), the thread's device, sessions.
//
// Promise: the service is asked once, at the first call that needs its answer; later calls take no lock.
#include "visible_devices.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <string_view>

#include "api/process/pytorch.h"
#include "gpu_count.h"

namespace jitc::api {
namespace {

thread_local int thread_device = 0;
thread_local bool thread_chose = false;
std::array<std::atomic<Session*>, kMaxDevices> sessions;
// A context is only ever compared, so the address of its byte can stand for it.
std::array<char, kMaxDevices> contexts;

std::string hex_digits(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != '-') out += static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
  return out;
}

/// Returns the index of the GPU that one entry names: a number, or GPU-<start of its UUID>; -1: none.
int named_gpu(std::string_view entry, const std::vector<GpuInfo>& gpus) {
  if (entry.starts_with("GPU-")) {
    const std::string wanted = hex_digits(entry.substr(4));
    for (size_t i = 0; i < gpus.size(); ++i)
      if (!wanted.empty() && hex_digits(gpus[i].uuid).starts_with(wanted)) return static_cast<int>(i);
    return -1;
  }
  int index = -1;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error != std::errc{} || end != entry.data() + entry.size()) return -1;
  return index >= 0 && index < static_cast<int>(gpus.size()) ? index : -1;
}

/// Selects as the driver does: entries count up to the first that names no GPU; a GPU named twice hides all.
std::vector<const GpuInfo*> select(const char* variable, const std::vector<GpuInfo>& gpus) {
  std::vector<const GpuInfo*> out;
  if (!variable) {
    for (const auto& gpu : gpus) out.push_back(&gpu);
    return out;
  }
  for (std::string_view rest = variable; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view entry = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    const int index = named_gpu(entry, gpus);
    if (index < 0) break;
    if (std::find(out.begin(), out.end(), &gpus[index]) != out.end()) return {};
    out.push_back(&gpus[index]);
  }
  return out;
}

/// True once visible() has its answer.
std::atomic<bool> settled{false};

std::vector<const GpuInfo*> named_now() {
  auto out = select(::secure_getenv("CUDA_VISIBLE_DEVICES"), Node::instance().gpus());
  if (out.size() > kMaxDevices) out.resize(kMaxDevices);
  return out;
}

const std::vector<const GpuInfo*>& visible() {
  static const auto& list = *new std::vector<const GpuInfo*>([] {
    settled = true;
    return named_now();
  }());
  return list;
}

}  // namespace

bool forked() { return Node::instance().forked(); }
int visible_count() { return static_cast<int>(visible().size()); }
bool has_asked_for_gpus() { return settled; }
int count_without_settling() {
  if (settled) return visible_count();
  return Node::instance().gpus().empty() ? -1 : static_cast<int>(named_now().size());
}
const GpuInfo* visible_gpu(int device) {
  return device >= 0 && device < visible_count() ? visible()[device] : nullptr;
}

bool runs_kernels() {
  const GpuInfo* gpu = visible_gpu(thread_device);
  return gpu && gpu->runs_kernels;
}

int current_device() { return thread_device; }
bool has_chosen_device() { return thread_chose; }
void forget_chosen_device() { thread_chose = false; }
Status set_current_device(int device) {
  if (visible_count() == 0) return kNoDevice;
  if (!visible_gpu(device)) return kInvalidDevice;
  thread_device = device;
  thread_chose = true;
  return kSuccess;
}

Session* session_of(int device, Status* error) {
  if (device >= 0 && device < kMaxDevices)
    if (Session* known = sessions[device].load(std::memory_order_acquire)) return known;
  const GpuInfo* gpu = visible_gpu(device);
  if (!gpu) {
    *error = visible_count() ? kInvalidDevice : kNoDevice;
    return nullptr;
  }
  uint32_t why = 0;
  Session* session = Node::instance().session(gpu->index, true, &why);
  if (!session) {
    *error = why ? from_result(why) : kNoDevice;
    return nullptr;
  }
  sessions[device].store(session, std::memory_order_release);
  tell_without_steps();
  return session;
}

bool has_session(int device) {
  return device >= 0 && device < kMaxDevices && sessions[device].load(std::memory_order_acquire);
}

int device_of(const Session* session) {
  for (int i = 0; i < kMaxDevices; ++i)
    if (sessions[i].load(std::memory_order_acquire) == session) return i;
  return -1;
}

uint64_t context_of(int device) { return reinterpret_cast<uint64_t>(&contexts[device]); }
int device_of_context(uint64_t context) {
  const uint64_t first = reinterpret_cast<uint64_t>(contexts.data());
  return context >= first && context < first + kMaxDevices ? static_cast<int>(context - first) : -1;
}

}  // namespace jitc::api

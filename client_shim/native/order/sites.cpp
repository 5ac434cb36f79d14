#include "sites.h"

#include <ATen/record_function.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "jitc/client_api.h"
#include "python_stack.h"

namespace torch::autograd {
TORCH_API int get_current_graph_task_id();  // -1 outside the autograd engine; its header costs seconds
}

namespace jitc::torch_device {
namespace {

/// Most texts: beyond it operators have no lines, for a program that makes up places without end.
constexpr size_t kMostTexts = 100'000;

PythonStack* stack = nullptr;  // lives as long as the process
thread_local int depth = 0;    // of operators that call each other
thread_local const char* site = nullptr;

/// Returns the same text at the same address each time.
const char* kept(const std::string& name, const std::string& lines) {
  static auto& mutex = *new std::mutex;
  static auto& texts = *new std::unordered_set<std::string>;
  std::string text = name + '\n' + lines;
  const std::lock_guard lock(mutex);
  if (texts.size() >= kMostTexts && !texts.contains(text)) text = name + '\n' + PythonStack::unknown();
  return texts.insert(std::move(text)).first->c_str();
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  if (depth++ == 0) {
    site = kept(function.name(), stack->lines(torch::autograd::get_current_graph_task_id()));
  }
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {
  if (--depth == 0) site = nullptr;
}

const char* current() { return site; }

}  // namespace

void follow_sites(const char* torch, const char* libraries) {
  stack = new PythonStack(torch, libraries);
  at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end).scopes({at::RecordScope::FUNCTION}));
  jitc_set_site_source(&current);
}

void note_wait(c10::DeviceIndex device) {
  jitc_note_wait(device, c10::cuda::getCurrentCUDAStream(device).stream());
}

}  // namespace jitc::torch_device

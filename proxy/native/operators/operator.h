// PyTorch operator: its dispatcher entry, and the parts of its schema that every call needs.
//
// Called by: decode.cpp and run.cpp.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <span>
#include <string_view>
#include <vector>

#include "jitc/operators_api.h"
#include "operators/checks/checks.h"

namespace jitc::operators {

using Composed = void (*)(torch::jit::Stack&);
using OnHost = void (*)(const jitc_operator_host&, torch::jit::Stack&);
/// Types of half precision for which an operator's kernel runs in float32 (halves.h).
enum class Halves { kNone, kHalfAlone, kBoth };
struct NamedComposed {
  std::string_view name;
  Composed function;
};

struct Operator {
  Operator(const c10::OperatorHandle& found, std::string_view name);
  c10::OperatorHandle handle;
  Composed composed;  // made from other operators, without a CPU kernel; or null
  OnHost on_host;     // for operators that need more of the device than memory; or null
  Check check;        // of its arguments, before it runs; or null
  std::vector<std::pair<size_t, int64_t>> numbered;  // arguments that stand for one of so many choices
  std::vector<bool> written;                         // per argument: the operator writes to it
  std::vector<bool> returns_written;                 // per return: it is a written argument
  Halves halves;  // operands of half precision that its CPU kernel gets in float32
  bool takes_generator = false;
  bool runs = false;           // it is composed, or PyTorch has a CPU kernel
  bool packs_results = false;  // its given results must be contiguous
};

/// Returns the operator "aten::name.overload"; throws Malformed for unknown ones. The reference stays valid.
const Operator& find_operator(std::string_view name);

/// Returns a replacement for an operator that PyTorch has on CUDA only (composed.cpp), or null.
Composed find_composed(std::string_view name);
std::span<const NamedComposed> composed_attention();

}  // namespace jitc::operators

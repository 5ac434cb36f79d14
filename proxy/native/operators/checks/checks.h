// Checks of an operator kernel's assumptions, before it runs.
//
// PyTorch's CPU kernels rely on checks in the functions that usually call them. A program can call the
// operators behind those functions with any arguments, such as indices that are out of range; then some
// kernels read and write outside of their operands, in the worker's memory. Every kernel that is known to do
// so has a check here, by the operator's name without its overload.
//
// Called by run.cpp before every query and call. Promise: a call that passes its check stays inside of its
// operands, as far as is known; one that fails it throws c10::Error, like PyTorch's own checks.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "operands.h"

namespace jitc::operators {

using Check = void (*)(const Operands&);

struct NamedCheck {
  std::string_view name;
  Check check;
};

/// Returns the check of an operator ("aten::name.overload"); null: it needs none.
Check find_check(std::string_view name);

// Parts of the table.
std::span<const NamedCheck> composed_checks();  // of operators in composed.cpp
std::span<const NamedCheck> index_checks();     // arguments that hold indices into others
std::span<const NamedCheck> norm_checks();      // normalizations
std::span<const NamedCheck> size_checks();      // sizes that must fit together
std::span<const NamedCheck> window_checks();    // the same, for operators with spatial windows

}  // namespace jitc::operators

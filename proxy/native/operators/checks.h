// What an operator's kernel takes for granted, asked before it runs.
//
// PyTorch's CPU kernels check what the functions in front of them let through. A program can call the
// operators behind those functions with anything, and give places in memory (indices) that are not there;
// then some kernels read and write outside of their operands, in the worker's memory. Those that are known
// have a check here, by the operator's name without its overload.
//
// Called by run.cpp before every query and call. Promise: a call that a check lets through stays inside of
// its operands as far as is known; one that it does not throws c10::Error, like PyTorch's own checks.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "operators/operands.h"

namespace jitc::operators {

using Check = void (*)(const Operands&);

struct NamedCheck {
  std::string_view name;
  Check check;
};

/// Of an operator ("aten::name.overload"), or null: there is nothing to check.
Check find_check(std::string_view name);

// The table in parts.
std::span<const NamedCheck> composed_checks();  // of operators in composed.cpp
std::span<const NamedCheck> place_checks();     // arguments with places in another one
std::span<const NamedCheck> size_checks();      // sizes that must go together
std::span<const NamedCheck> window_checks();    // the same, of operators that go over space

}  // namespace jitc::operators

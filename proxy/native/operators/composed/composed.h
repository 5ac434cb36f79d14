// Tables of composed operators, by file. Called by: composed.cpp, which looks a name up in all of them.
#pragma once
#include <span>

#include "operators/operator.h"

namespace jitc::operators {

std::span<const NamedComposed> composed_bags();
std::span<const NamedComposed> composed_sigmoid();
std::span<const NamedComposed> composed_softmax();
/// Returns the function that runs kernels compiled by the program (host_kernels.cpp), or null.
OnHost find_on_host(std::string_view name);

}  // namespace jitc::operators

// The tables of composed operators, by file. Called by: composed.cpp, which looks a name up in all of them.
#pragma once
#include <span>

#include "operators/operator.h"

namespace jitc::operators {

std::span<const NamedComposed> composed_softmax();

}  // namespace jitc::operators

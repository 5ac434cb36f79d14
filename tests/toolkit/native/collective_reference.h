// What collectives must give, by plain loops over all ranks' inputs. Inputs are small integers, so that sums
// are exact in every type and the order of additions does not matter; see collective_cases.cpp for rounding.
#pragma once
#include <string>
#include <vector>

#include "jitc/generated_ops.h"

namespace jitc::test {

struct Setup {
  ops::CollectiveKind kind;
  uint32_t dtype;
  ops::Reduction reduction;
  int ranks, rank, root;
  uint64_t count;
};

std::string describe(const Setup& setup);
std::vector<std::byte> make_input(const Setup& setup);  // of setup.rank
size_t output_bytes(const Setup& setup);
std::vector<std::byte> make_output(const Setup& setup);

}  // namespace jitc::test

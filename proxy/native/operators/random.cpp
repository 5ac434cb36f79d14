#include "operators/random.h"

#include <ATen/CPUGeneratorImpl.h>

namespace jitc::operators {
namespace {

std::mutex default_generator_mutex;

uint64_t mix(uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

uint64_t cpu_seed(uint64_t seed, uint64_t offset) { return mix(seed ^ mix(offset)); }

}  // namespace

at::Generator make_generator(uint64_t seed, uint64_t offset) {
  return at::make_generator<at::CPUGeneratorImpl>(cpu_seed(seed, offset));
}

DefaultGenerator::DefaultGenerator(uint64_t seed, uint64_t offset) : lock_(default_generator_mutex) {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(cpu_seed(seed, offset));
}

}  // namespace jitc::operators

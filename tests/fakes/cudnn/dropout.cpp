// Dropout descriptors and their states. See dropout.h.
#include "dropout.h"

#include <cstring>

#include "../over_driver/stream_work.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
constexpr size_t kStatesBytes = 4096;

/// A step of SplitMix64.
uint64_t mixed(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

void fill_states(uint64_t address, uint64_t seed) {
  std::byte* to = touch(address, kStatesBytes);
  for (size_t at = 0; at < kStatesBytes; at += sizeof seed) {
    seed = mixed(seed);
    std::memcpy(to + at, &seed, sizeof seed);
  }
}

/// Without states there can be no dropout.
void set(void* descriptor, const void* handle, float rate, void* states, size_t bytes) {
  const auto one = object<DropoutDescriptor>(descriptor);
  object<DnnHandle>(handle);
  require(rate >= 0 && rate <= 1, "a rate out of range");
  require(states ? bytes >= kStatesBytes : rate == 0, "states that are too small");
  one->rate = rate;
  one->states = address_of(states);
}
}  // namespace

double next_dropout(float rate, uint64_t states) {
  std::byte* const place = touch(states, kStatesBytes);
  uint64_t first = 0;
  std::memcpy(&first, place, sizeof first);
  const double part = static_cast<double>(first >> 40) / static_cast<double>(1 << 24);
  first = mixed(first);
  std::memcpy(place, &first, sizeof first);
  return 1 - static_cast<double>(rate) * part;
}

int cudnnCreateDropoutDescriptor(void** out) {
  return create<DropoutDescriptor>("cudnnCreateDropoutDescriptor", out);
}
int cudnnDestroyDropoutDescriptor(void* descriptor) {
  return destroy<DropoutDescriptor>("cudnnDestroyDropoutDescriptor", descriptor);
}

int cudnnDropoutGetStatesSize(void* handle, size_t* size) {
  return dnn_call("cudnnDropoutGetStatesSize", std::tuple(handle), [&](CallLine&) {
    object<DnnHandle>(handle);
    *given(size) = kStatesBytes;
  });
}

int cudnnSetDropoutDescriptor(void* descriptor, void* handle, float rate, void* states, size_t bytes,
                              unsigned long long seed) {
  const std::tuple shown(descriptor, handle, rate, states, bytes, seed);
  return dnn_call("cudnnSetDropoutDescriptor", shown, [&](CallLine& line) {
    set(descriptor, handle, rate, states, bytes);
    if (!states) return;
    submit(line, *object<DnnHandle>(handle), [=] { fill_states(address_of(states), seed); });
  });
}

int cudnnRestoreDropoutDescriptor(void* descriptor, void* handle, float rate, void* states, size_t bytes,
                                  unsigned long long seed) {
  const std::tuple shown(descriptor, handle, rate, states, bytes, seed);
  return dnn_call("cudnnRestoreDropoutDescriptor", shown, [&](CallLine&) {
    require(states, "no states to restore");  // as cuDNN 9.19 does it on a GPU
    set(descriptor, handle, rate, states, bytes);
  });
}

}  // namespace jitc::fakes

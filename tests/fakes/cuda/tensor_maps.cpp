// Tensor maps of the fake driver: the arguments one after the other, as 16-bit numbers; NVIDIA's layout is
// unknown.
#include <cstring>
#include <initializer_list>

#include "call.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
constexpr size_t kBytes = 128, kAlignment = 64;
constexpr unsigned kMostRank = 5;

class Writer {
 public:
  explicit Writer(void* map) : next_(static_cast<uint16_t*>(map)) { std::memset(map, 0, kBytes); }
  template <class Number>
  void put(const Number* numbers, size_t count) {
    for (size_t i = 0; i < count; ++i) *next_++ = static_cast<uint16_t>(numbers[i]);
  }
  template <class Number>
  void put(std::initializer_list<Number> numbers) {
    put(numbers.begin(), numbers.size());
  }

 private:
  uint16_t* next_;
};

void check_map(const void* map, unsigned rank, const void* address) {
  constexpr size_t kOfAddress = 16;
  const bool aligned = reinterpret_cast<uintptr_t>(map) % kAlignment == 0 &&
                       reinterpret_cast<uintptr_t>(address) % kOfAddress == 0;
  if (!map || !aligned || !rank || rank > kMostRank) throw Failure{kInvalidValue};
}
}  // namespace

int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const uint64_t* dims,
                           const uint64_t* strides, const uint32_t* box, const uint32_t* steps,
                           int interleave, int swizzle, int promotion, int fill) {
  return call("cuTensorMapEncodeTiled", Needs::driver, {Field::address("address", address)}, [&](Call&) {
    check_map(map, rank, address);
    Writer out(map);
    out.put({1, type, static_cast<int>(rank), interleave, swizzle, promotion, fill});
    out.put({reinterpret_cast<uint64_t>(address)});
    out.put(needed(dims), rank);
    if (rank > 1) out.put(needed(strides), rank - 1);
    out.put(needed(box), rank);
    out.put(needed(steps), rank);
  });
}

int cuTensorMapEncodeIm2col(void* map, int type, unsigned rank, void* address, const uint64_t* dims,
                            const uint64_t* strides, const int* lower, const int* upper, uint32_t channels,
                            uint32_t pixels, const uint32_t* steps, int interleave, int swizzle,
                            int promotion, int fill) {
  return call("cuTensorMapEncodeIm2col", Needs::driver, {Field::address("address", address)}, [&](Call&) {
    check_map(map, rank, address);
    if (rank < 3) throw Failure{kInvalidValue};
    Writer out(map);
    out.put({2, type, static_cast<int>(rank), interleave, swizzle, promotion, fill});
    out.put({reinterpret_cast<uint64_t>(address)});
    out.put(needed(dims), rank);
    out.put(needed(strides), rank - 1);
    out.put(needed(lower), rank - 2);
    out.put(needed(upper), rank - 2);
    out.put({channels, pixels});
    out.put(needed(steps), rank);
  });
}

}  // namespace jitc::fakes

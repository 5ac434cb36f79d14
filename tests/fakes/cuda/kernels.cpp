// Bodies of the kernels. See kernels.h; the list is in README.md.
#include "kernels.h"

#include <atomic>
#include <utility>

#include "call.h"
#include "content_hash.h"
#include "hash_on_host.h"
#include "modules.h"

namespace jitc::fakes {
namespace {
template <class T>
T* array(uint64_t address, uint64_t count) {
  if (address % alignof(T)) throw Failure{716};  // misaligned address
  return reinterpret_cast<T*>(Memory::instance().at(address, count * sizeof(T)));
}

/// fill_f32(float* p, float v, u64 n)
void fill_f32(const Launch& launch) {
  const auto hold = Memory::instance().hold();
  const auto count = launch.parameter<uint64_t>(16);
  auto* out = array<float>(launch.parameter<uint64_t>(0), count);
  for (uint64_t each = 0; each < count; ++each) out[each] = launch.parameter<float>(8);
}

/// axpy_f32(float* y, const float* x, float a, u64 n)
void axpy_f32(const Launch& launch) {
  const auto hold = Memory::instance().hold();
  const auto count = launch.parameter<uint64_t>(24);
  const auto scale = launch.parameter<float>(16);
  auto* y = array<float>(launch.parameter<uint64_t>(0), count);
  const auto* x = array<float>(launch.parameter<uint64_t>(8), count);
  for (uint64_t each = 0; each < count; ++each) y[each] += scale * x[each];
}

/// add_i64(i64* p, i64 v, u64 n)
void add_i64(const Launch& launch) {
  const auto hold = Memory::instance().hold();
  const auto count = launch.parameter<uint64_t>(16);
  auto* out = array<int64_t>(launch.parameter<uint64_t>(0), count);
  for (uint64_t each = 0; each < count; ++each) out[each] += launch.parameter<int64_t>(8);
}

/// struct_args(struct {u8 tag; u32 number; u64 big;} packed, 13 bytes; u64* out)
void struct_args(const Launch& launch) {
  const auto hold = Memory::instance().hold();
  auto* out = array<uint64_t>(launch.parameter<uint64_t>(16), 3);
  out[0] = launch.parameter<uint8_t>(0);
  out[1] = launch.parameter<uint32_t>(1);
  out[2] = launch.parameter<uint64_t>(5);
}

/// shape_of(u64* out): grid, block and dynamic shared memory of its own launch
void shape_of(const Launch& launch) {
  const auto hold = Memory::instance().hold();
  auto* out = array<uint64_t>(launch.parameter<uint64_t>(0), launch.shape.size());
  for (const unsigned each : launch.shape) *out++ = each;
}

/// bump_global(): adds one to the module's variable "counter" (8 bytes)
void bump_global(const Launch& launch) {
  const auto hold = Memory::instance().hold();
  const auto found = launch.module.globals.find("counter");
  if (found == launch.module.globals.end()) throw Failure{kIllegalAddress};
  ++*array<uint64_t>(found->second.address, 1);
}

/// wait_flag(const u64* p, u64 v): ends when *p is v
void wait_flag(const Launch& launch) {
  for (;;) {
    {
      const auto hold = Memory::instance().hold();
      std::atomic_ref flag(*array<uint64_t>(launch.parameter<uint64_t>(0), 1));
      if (flag.load(std::memory_order_acquire) == launch.parameter<uint64_t>(8)) return;
    }
    {
      const auto lock = locked();
      if (launch.context.over()) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

std::vector<HashRange> ranges_of(const Launch& launch) {
  const auto hold = Memory::instance().hold();
  const auto count = launch.parameter<uint32_t>(8);
  const auto* given = array<HashRange>(launch.parameter<uint64_t>(0), count);
  return {given, given + count};
}

/// The same sums by the processor's vectors: on a device with a pace the model's time counts, not the body's.
void sum_quickly(const std::vector<HashRange>& ranges, HashSum* sums) {
  for (const HashRange& each : ranges) {
    ContentHasher hasher;
    hasher.add({reinterpret_cast<const std::byte*>(each.address), each.bytes});
    sums->a += hasher.total().a;
    sums++->b += hasher.total().b;
  }
}

/// jitc_hash(const Range* ranges, u32 count, u64 pieces, Sum* sums): the source that the worker compiles
void jitc_hash(const Launch& launch) {
  std::vector<HashRange> ranges = ranges_of(launch);
  const auto hold = Memory::instance().hold();
  const auto count = launch.parameter<uint32_t>(8);
  for (HashRange& each : ranges)
    each.address = reinterpret_cast<uint64_t>(Memory::instance().at(each.address, each.bytes));
  auto* sums = array<HashSum>(launch.parameter<uint64_t>(24), count);
  if (launch.context.pace) return sum_quickly(ranges, sums);
  hash_on_host({launch.shape[0], launch.shape[3]}, ranges.data(), count, launch.parameter<uint64_t>(16),
               sums);
}

/// Hashing and poisoning are bound by memory.
Cost bytes_of_ranges(const Launch& launch) {
  uint64_t bytes = 0;
  for (const HashRange& each : ranges_of(launch)) bytes += each.bytes;
  return {Cost::kCompute, bytes};
}

/// busy(u64 nanoseconds), link_busy(u64 nanoseconds): takes that long on a device with a pace, no time on
/// others
void busy(const Launch&) {}
template <Cost::Engine engine>
Cost stated_time(const Launch& launch) {
  return {engine, 0, Nanoseconds(launch.parameter<uint64_t>(0))};
}

Cost real_time(const Launch&) { return {Cost::kHost}; }

/// `bytes` for each element of the last parameter, at the offset.
template <size_t offset, size_t bytes>
Cost per_element(const Launch& launch) {
  return {Cost::kCompute, launch.parameter<uint64_t>(offset) * bytes};
}

/// jitc_poison(const Range* ranges, u32 count, u64 pieces): likewise, a range after the other
void jitc_poison(const Launch& launch) {
  const auto hold = Memory::instance().hold();
  const auto count = launch.parameter<uint32_t>(8);
  const auto* given = array<HashRange>(launch.parameter<uint64_t>(0), count);
  for (uint32_t i = 0; i < count; ++i) {
    HashRange range = given[i];
    const uint64_t next = i + 1 < count ? given[i + 1].first : launch.parameter<uint64_t>(16);
    const uint64_t pieces = next - std::exchange(range.first, 0);
    poison_on_host({launch.shape[0], launch.shape[3]}, range, pieces,
                   Memory::instance().at(range.address, range.bytes));
  }
}

/// deep(u64 bytes): needs so much stack; heap(u64 bytes): takes so much of the device's heap
void deep(const Launch& launch) {
  const auto lock = locked();
  if (launch.parameter<uint64_t>(0) > launch.context.limits[kStackLimit]) throw Failure{kLaunchFailed};
}
void heap(const Launch& launch) {
  const auto lock = locked();
  launch.context.heap_used = true;
  if (launch.parameter<uint64_t>(0) > launch.context.limits[kHeapLimit]) throw Failure{kIllegalAddress};
}

void empty(const Launch&) {}
/// endless(): until the context or the process ends
void endless(const Launch& launch) { hang_until_over(launch.context); }
void illegal(const Launch&) { throw Failure{kIllegalAddress}; }

/// jitc_illegal_access(), of jitc's own PTX
void store_where_nothing_is(const Launch&) {
  const auto hold = Memory::instance().hold();
  *array<uint32_t>(16, 1) = 1;
}
void assert_fail(const Launch&) { throw Failure{kAssert}; }
}  // namespace

const Kernel* find_kernel(const std::string& name) {
  static const Kernel kKernels[] = {
      {"fill_f32", {{0, 8}, {8, 4}, {16, 8}}, fill_f32, per_element<16, 4>},
      {"axpy_f32", {{0, 8}, {8, 8}, {16, 4}, {24, 8}}, axpy_f32, per_element<24, 12>},
      {"add_i64", {{0, 8}, {8, 8}, {16, 8}}, add_i64, per_element<16, 16>},
      {"struct_args", {{0, 13}, {16, 8}}, struct_args},
      {"shape_of", {{0, 8}}, shape_of},
      {"bump_global", {}, bump_global},
      {"jitc_hash", {{0, 8}, {8, 4}, {16, 8}, {24, 8}}, jitc_hash, bytes_of_ranges},
      {"jitc_poison", {{0, 8}, {8, 4}, {16, 8}}, jitc_poison, bytes_of_ranges},
      {"busy", {{0, 8}}, busy, stated_time<Cost::kCompute>},
      {"link_busy", {{0, 8}}, busy, stated_time<Cost::kLink>},
      {"wait_flag", {{0, 8}, {8, 8}}, wait_flag, real_time},
      {"deep", {{0, 8}}, deep},
      {"heap", {{0, 8}}, heap},
      {"empty", {}, empty},
      {"endless", {}, endless, real_time},
      {"illegal", {}, illegal},
      {"assert_fail", {}, assert_fail},
      {"jitc_illegal_access", {}, store_where_nothing_is},
      {"jitc_endless_kernel", {}, endless, real_time},
  };
  for (const Kernel& each : kKernels)
    if (name == each.name) return &each;
  return nullptr;
}

}  // namespace jitc::fakes

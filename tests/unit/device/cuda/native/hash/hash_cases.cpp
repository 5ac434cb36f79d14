// Hashing device memory by the device: launches, what they are given, and the path without a kernel.
#include <cstring>
#include <thread>

#include "content.h"
#include "device/cuda/hash/hasher.h"
#include "device/cuda/module/kernel_build.h"
#include "device/poison.h"
#include "harness.h"

namespace jitc::test {
namespace {

std::vector<Hash> hash_all(Session& s, const std::vector<MemoryRange>& ranges) {
  std::vector<Hash> hashes(ranges.size());
  s.backend->hash_all(ranges, hashes);
  return hashes;
}

/// Hashes of several blocks, right, whoever takes them.
void check_hashes(Session& s) {
  const Content data = random_content(10 << 20);  // more than two pieces of a transfer
  const uint64_t a = s.upload(data);
  const std::vector<MemoryRange> ranges{{a, data.size()}, {a + 3, 12345}, {a, data.size() + 1},
                                        {a + 16, 0},      {a + 4096, 1},  {s.base + kRange - 1, 1}};
  const auto hashes = hash_all(s, ranges);
  for (const size_t i : {0, 1, 4}) {
    const auto content = std::span(data).subspan(ranges[i].address - a, ranges[i].bytes);
    CHECK(hashes[i] == content_hash(content));
  }
  for (const size_t i : {2, 3, 5}) CHECK(hashes[i] == kNoHash);
}

/// What a worker writes to stderr while it hashes, with the failures.
std::string told(const std::string& failures, const Options& options = {}) {
  std::string written;
  const int status = run_child(
      [&] {
        prepare_failures();
        Session s(options);
        ask_for_failures(failures);
        check_hashes(s);
        check_hashes(s);
        CHECK(s.sink.faults().empty());
      },
      written);
  if (status != 0) throw Failure{failures + ": " + written};
  return written;
}

void check_told(const std::string& written, const std::string& why) {
  CHECK(contains(written, "cannot hash its memory by itself, the host does"));
  if (written.find(why) == std::string::npos) throw Failure{"not " + why + ": " + written};
  CHECK_EQUAL(std::count(written.begin(), written.end(), '\n'), 1);
}

}  // namespace

CASE(hash_by_the_gpu) { CHECK_EQUAL(told(""), ""); }

/// 20 blocks of many sizes: one launch (tests/unit/device/cuda/test_cuda_device.py looks at it).
CASE(hash_of_many_blocks_is_one_launch) {
  Session s;
  const Content data = random_content(1 << 20);
  const uint64_t a = s.upload(data);
  std::vector<MemoryRange> ranges;
  for (uint64_t i = 0; i < 20; ++i) ranges.push_back({a + i * 512, i * 40'000});
  ranges[7].address = s.base + kRange - 4096;
  const auto hashes = hash_all(s, ranges);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const bool there = i != 7 && ranges[i].bytes;
    const auto content =
        there ? std::span(data).subspan(i * 512, ranges[i].bytes) : std::span<const std::byte>();
    CHECK(hashes[i] == (there ? content_hash(content) : kNoHash));
  }
}

CASE(hash_of_more_blocks_than_a_table_has) {
  Session s;
  const Content data = random_content(1 << 20);
  const uint64_t a = s.upload(data);
  std::vector<MemoryRange> ranges;
  for (uint64_t i = 0; i < cuda::Hasher::kMostRanges * 2 + 5; ++i) ranges.push_back({a + i * 8, 8 + i % 50});
  const auto hashes = hash_all(s, ranges);
  for (size_t i = 0; i < ranges.size(); ++i)
    CHECK(hashes[i] == content_hash(std::span(data).subspan(i * 8, ranges[i].bytes)));
}

CASE(hash_while_fenced_and_of_nothing) {
  Session s;
  const Content data = random_content(100'000);
  const uint64_t a = s.upload(data);
  s.backend->fence();
  CHECK(s.hash(a, data.size()) == content_hash(data));
  CHECK(hash_all(s, {}).empty());
  s.backend->unfence();
  CHECK(s.sink.faults().empty());
}

CASE(hash_by_sessions_of_one_process) {
  Session s, other({.slot = 1});
  std::thread beside([&] { check_hashes(other); });
  check_hashes(s);
  beside.join();
}

CASE(hash_without_a_compiler_is_the_hosts) {
  Options without;
  without.nvrtc = "";
  check_told(told("", without), "there is no libnvrtc");
  without.nvrtc = "/nowhere/libnvrtc.so";
  check_told(told("", without), "/nowhere/libnvrtc.so");
  without.nvrtc = JITC_TEST_DRIVER;
  check_told(told("", without), "has no function nvrtcVersion");
}

CASE(hash_with_a_compiler_that_fails_is_the_hosts) {
  for (const char* const function :
       {"nvrtcVersion", "nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"}) {
    std::string written;
    const int status = run_child(
        [&] {
          prepare_failures();
          ask_for_failures(std::string(function) + ":1=6");
          Session s;
          check_hashes(s);
        },
        written);
    if (status != 0) throw Failure{std::string(function) + ": " + written};
    check_told(written, std::string(function));
    CHECK(contains(written, "compilation failed (6)"));
  }
}

CASE(hash_with_a_driver_that_refuses_is_the_hosts) {
  check_told(told("cuModuleLoadData:1=200"), "cuModuleLoadData: ");
  check_told(told("cuModuleGetFunction:1=500"), "kernel jitc_hash: CUDA_ERROR_NOT_FOUND (500)");
  check_told(told("cuMemAlloc_v2:1=2"), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)");
  check_told(told("cuMemHostAlloc:3=2"), "cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)");
  check_told(told("cuStreamCreateWithPriority:3=2"), "cuStreamCreateWithPriority");
  check_told(told("cuMemsetD8Async:1=1"), "cuMemsetD8Async: CUDA_ERROR_INVALID_VALUE (1)");
  check_told(told("cuLaunchKernelEx:1=2"), "cuLaunchKernelEx: CUDA_ERROR_OUT_OF_MEMORY (2)");
  // What worked once can fail the next time.
  check_told(told("cuLaunchKernelEx:2=2"), "cuLaunchKernelEx: CUDA_ERROR_OUT_OF_MEMORY (2)");
}

/// By the GPU or by the host: the same, and only where memory is.
CASE(poison_by_the_gpu) {
  const std::string failures[] = {"", "cuLaunchKernelEx:1=2"};
  for (const std::string& one : failures) {
    std::string written;
    const int status = run_child(
        [&] {
          prepare_failures();
          Session s;
          const Content data = random_content(300'000);
          const uint64_t a = s.upload(data);
          ask_for_failures(one);
          const std::vector<MemoryRange> ranges{{a + 5, 200'000}, {s.base + kRange - 8, 8}, {a + 250'000, 1}};
          s.backend->poison_all(ranges);
          Content expected = data, found(data.size());
          poison(a + 5, std::span(expected).subspan(5, 200'000));
          poison(a + 250'000, std::span(expected).subspan(250'000, 1));
          CHECK(s.backend->read(a, found));
          CHECK(found == expected);
          CHECK(s.sink.faults().empty());
        },
        written);
    if (status != 0) throw Failure{one + ": " + written};
    CHECK_EQUAL(written.empty(), one.empty());
  }
}

/// A device that is lost is a fault like any other, and no hash is made up.
CASE(fault_sticky_in_a_hash) {
  prepare_failures();
  Session s;
  const uint64_t a = s.upload(random_content(5000));
  ask_for_failures("run:3=700");  // the table, the sums, the kernel
  CHECK(s.hash(a, 5000) == kNoHash);
  const auto faults = s.sink.faults();
  CHECK_EQUAL(faults.size(), size_t{1});
  CHECK(faults[0].cause == "sticky-error");
}

/// The real compiler, where there is one: PyTorch's wheels bring it along. JITC_TEST_REAL_NVRTC is its path.
namespace {
void check_image(const char* nvrtc, int capability, cuda::KernelText text,
                 std::initializer_list<const char*> sections) {
  const cuda::KernelWork work(nvrtc, capability, text);
  const cuda::KernelBuild& build = work.get();
  if (!build.error.empty()) throw Failure{build.error};
  const std::string_view image(reinterpret_cast<const char*>(build.image.data()), build.image.size());
  CHECK(
      image.starts_with("\x7f"
                        "ELF"));
  for (const char* const section : sections) CHECK(image.find(section) != std::string_view::npos);
}
}  // namespace

CASE(real_compiler_makes_the_kernel) {
  const char* const path = std::getenv("JITC_TEST_REAL_NVRTC");
  if (!path) throw Failure{"JITC_TEST_REAL_NVRTC is not set"};
  using cuda::KernelText;
  for (const int capability : {80, 90, 100}) {
    check_image(path, capability, KernelText::hash, {".text.jitc_hash", ".text.jitc_poison"});
    check_image(path, capability, KernelText::faults,
                {".text.jitc_illegal_access", ".text.jitc_endless_kernel"});
  }
  CHECK(cuda::KernelWork(path, 1).get().error.find("nvrtcCompileProgram for sm_1") == 0);
}

}  // namespace jitc::test

// See kernel_build.h.
#include "kernel_build.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "hash_text.h"
#include "nvrtc.h"

namespace jitc::cuda {
namespace {

/// Program of NVRTC.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const char* source, const char* name) : nvrtc_(nvrtc) {
    const char* const header = kContentArithmetic;
    const char* const header_name = "content_arithmetic.h";
    nvrtc.check("nvrtcCreateProgram",
                nvrtc.nvrtcCreateProgram(&program_, source, name, 1, &header, &header_name));
  }
  ~Program() { nvrtc_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile(const std::string& architecture) {
    const std::string target = "--gpu-architecture=" + architecture;
    const char* const options[] = {target.c_str(), "--std=c++17", "--device-as-default-execution-space"};
    const auto status = nvrtc_.nvrtcCompileProgram(program_, std::size(options), options);
    nvrtc_.check(("nvrtcCompileProgram for " + architecture).c_str(), status, status ? log() : "");
  }

  std::vector<std::byte> image() const {
    size_t size = 0;
    nvrtc_.check("nvrtcGetCUBINSize", nvrtc_.nvrtcGetCUBINSize(program_, &size));
    std::vector<std::byte> image(size);
    nvrtc_.check("nvrtcGetCUBIN", nvrtc_.nvrtcGetCUBIN(program_, reinterpret_cast<char*>(image.data())));
    return image;
  }

 private:
  /// Returns the compiler's first line, for a message of one line.
  std::string log() const {
    size_t size = 0;
    if (nvrtc_.nvrtcGetProgramLogSize(program_, &size) != 0 || size == 0) return {};
    std::string text(size, '\0');
    if (nvrtc_.nvrtcGetProgramLog(program_, text.data()) != 0) return {};
    return text.substr(0, text.find_first_of(std::string_view("\n\0", 2)));
  }

  const Nvrtc& nvrtc_;
  void* program_ = nullptr;
};

KernelBuild build(const std::string& nvrtc_path, int capability, KernelText text) {
  try {
    const auto nvrtc = Nvrtc::open(nvrtc_path);
    const bool faults = text == KernelText::faults;
    Program program(*nvrtc, faults ? kFaultKernels : kHashKernel,
                    faults ? "fault_kernels.cu" : "hash_kernel.cu");
    program.compile("sm_" + std::to_string(capability));
    return {program.image(), {}};
  } catch (const std::exception& error) {
    return {{}, error.what()};
  }
}

std::shared_future<KernelBuild> begun(const std::string& nvrtc_path, int capability, KernelText text) {
  static std::mutex mutex;
  static auto& known =
      *new std::map<std::tuple<std::string, int, KernelText>, std::shared_future<KernelBuild>>;
  const std::lock_guard lock(mutex);
  auto& one = known[{nvrtc_path, capability, text}];
  if (!one.valid()) one = std::async(std::launch::async, build, nvrtc_path, capability, text).share();
  return one;
}

}  // namespace

KernelWork::KernelWork(const std::string& nvrtc_path, int capability, KernelText text)
    : build_(begun(nvrtc_path, capability, text)) {}

}  // namespace jitc::cuda

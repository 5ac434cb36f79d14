// See fault_kernels.h.
#include "fault_kernels.h"

#include "device/cuda/driver/error.h"
#include "device/cuda/module/kernel_build.h"

namespace jitc::cuda {
namespace {

/// Kernels of fault_kernels.cu for systems without NVRTC. The driver translates them for the present GPU.
/// Reading the clock keeps compilers from finding that the loop never ends, or removing it.
constexpr char kKernels[] = R"ptx(
.version 7.0
.target sm_52
.address_size 64

.visible .entry jitc_illegal_access()
{
  .reg .b64 %address;
  .reg .b32 %value;
  mov.u64 %address, 16;
  mov.u32 %value, 1;
  st.volatile.global.u32 [%address], %value;
  ret;
}

.visible .entry jitc_endless_kernel()
{
  .reg .pred %more;
  .reg .b64 %now;
again:
  mov.u64 %now, %clock64;
  setp.ne.u64 %more, %now, 0;
  @%more bra again;
  ret;
}
)ptx";

}  // namespace

FaultKernels::~FaultKernels() {
  release();
  if (module_ && context_->bind() == 0) context_->driver().cuModuleUnload(module_);
}

/// Loads machine code first: PTX needs the driver's compiler, a library of its own that containers may lack.
void FaultKernels::load() {
  const Driver& driver = context_->driver();
  const KernelWork work(nvrtc_path_, context_->capability(), KernelText::faults);
  const KernelBuild& built = work.get();
  std::string why = built.error;
  if (!built.image.empty()) {
    const auto status = driver.cuModuleLoadData(&module_, built.image.data());
    if (status == 0) return;
    why = "cuModuleLoadData: " + driver.describe(status);
  }
  const auto status = driver.cuModuleLoadData(&module_, kKernels);
  if (status == 0) return;
  OpError error = error_of(driver, "cuModuleLoadData", status);
  error.message += "; as machine code: " + why;
  throw error;
}

void FaultKernels::launch(const char* kernel, abi::CUstream stream) {
  const Driver& driver = context_->driver();
  if (!module_) load();
  abi::CUfunction function = nullptr;
  check(driver, "cuModuleGetFunction", driver.cuModuleGetFunction(&function, module_, kernel));
  const abi::CUlaunchConfig one{1, 1, 1, 1, 1, 1, 0, stream, nullptr, 0};
  check(driver, "cuLaunchKernelEx", driver.cuLaunchKernelEx(&one, function, nullptr, nullptr));
}

void FaultKernels::stand_still(abi::CUstream stream) {
  const Driver& driver = context_->driver();
  if (!gate_.host) gate_ = words_.take();
  opened_ = gate_.host;
  check(driver, "cuStreamWaitValue64",
        driver.cuStreamWaitValue64(stream, gate_.device, gates_ + 1, abi::kWaitValueGeq));
  ++gates_;
}

void FaultKernels::release() {
  if (std::atomic<uint64_t>* const word = opened_) word->store(gates_, std::memory_order_release);
}

}  // namespace jitc::cuda

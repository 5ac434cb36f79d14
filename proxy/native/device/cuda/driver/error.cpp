// See error.h.
#include "error.h"

#include "device/device_assert.h"

namespace jitc::cuda {

uint32_t runtime_status(abi::CUresult status) {
  switch (status) {
    case 202:  // CUDA_ERROR_CONTEXT_ALREADY_CURRENT
    case 916:  // CUDA_ERROR_KEY_ROTATION
      return kUnknown;
    default:
      return static_cast<uint32_t>(status);
  }
}

const char* sticky_cause(abi::CUresult status) {
  switch (status) {
    case 214:  // CUDA_ERROR_ECC_UNCORRECTABLE
    case 220:  // CUDA_ERROR_NVLINK_UNCORRECTABLE
    case 226:  // CUDA_ERROR_CONTAINED
      return "ecc-error";
    case 4:    // CUDA_ERROR_DEINITIALIZED
    case 46:   // CUDA_ERROR_DEVICE_UNAVAILABLE
    case 101:  // CUDA_ERROR_INVALID_DEVICE: it was there when the context was made
    case 709:  // CUDA_ERROR_CONTEXT_IS_DESTROYED
      return "device-lost";
    case 700:  // CUDA_ERROR_ILLEGAL_ADDRESS
    case 702:  // CUDA_ERROR_LAUNCH_TIMEOUT
    case 714:  // CUDA_ERROR_HARDWARE_STACK_ERROR
    case 715:  // CUDA_ERROR_ILLEGAL_INSTRUCTION
    case 716:  // CUDA_ERROR_MISALIGNED_ADDRESS
    case 717:  // CUDA_ERROR_INVALID_ADDRESS_SPACE
    case 718:  // CUDA_ERROR_INVALID_PC
    case 719:  // CUDA_ERROR_LAUNCH_FAILED
    case 721:  // CUDA_ERROR_TENSOR_MEMORY_LEAK
    case 999:  // the driver itself does not know its state
      return "sticky-error";
    case 710:  // CUDA_ERROR_ASSERT
      return device::kDeviceAssert;
    default:
      return nullptr;
  }
}

OpError error_of(const Driver& driver, const char* what, abi::CUresult status) {
  const char* const sticky = sticky_cause(status);
  return {runtime_status(status), sticky ? sticky : "op-error",
          std::string(what) + ": " + driver.describe(status), sticky != nullptr};
}

}  // namespace jitc::cuda

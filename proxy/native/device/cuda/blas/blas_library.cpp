// See blas_library.h.
#include "blas_library.h"

#include "device/cuda/driver/open_library.h"

namespace jitc::cuda {
std::shared_ptr<const Cublas> Cublas::open(const std::string& path, const std::string& lt_path) {
  return known<Cublas>(path, [&] {
    // libcublas asks the loader for cuBLASLt by name; a loaded one is used.
    load_beside(lt_path);
    const auto made = std::make_shared<Cublas>();
    void* const library = load("libcublas", path);
#define JITC_BLAS_FIND(function, parameters) find(library, path, #function, made->function);
    JITC_CUBLAS(JITC_BLAS_FIND)
    made->functions_ = {"libcublas", {kBlasFunctions, kBlasFunctionsCount}, library};
    return made;
  });
}

std::shared_ptr<const CublasLt> CublasLt::open(const std::string& path) {
  return known<CublasLt>(path, [&] {
    const auto made = std::make_shared<CublasLt>();
    void* const library = load("libcublasLt", path);
    JITC_CUBLASLT(JITC_BLAS_FIND)
#undef JITC_BLAS_FIND
    made->functions_ = {"libcublasLt", {kLtFunctions, kLtFunctionsCount}, library};
    return made;
  });
}

std::string describe_blas(BlasStatus status) {
  const char* name = "an unknown status";
  switch (status) {
    case 1:
      name = "CUBLAS_STATUS_NOT_INITIALIZED";
      break;
    case 3:
      name = "CUBLAS_STATUS_ALLOC_FAILED";
      break;
    case 7:
      name = "CUBLAS_STATUS_INVALID_VALUE";
      break;
    case 8:
      name = "CUBLAS_STATUS_ARCH_MISMATCH";
      break;
    case 11:
      name = "CUBLAS_STATUS_MAPPING_ERROR";
      break;
    case 13:
      name = "CUBLAS_STATUS_EXECUTION_FAILED";
      break;
    case 14:
      name = "CUBLAS_STATUS_INTERNAL_ERROR";
      break;
    case 15:
      name = "CUBLAS_STATUS_NOT_SUPPORTED";
      break;
    case 16:
      name = "CUBLAS_STATUS_LICENSE_ERROR";
      break;
    default:
      break;
  }
  return std::string(name) + " (" + std::to_string(status) + ")";
}

uint32_t status_of_blas(BlasStatus status) {
  switch (status) {
    case 3:
      return kMemoryAllocation;
    case 7:
      return kInvalidValue;
    case 8:
    case 15:
      return kNotSupported;
    default:
      return kUnknown;
  }
}

void check_blas(const char* function, BlasStatus status) {
  if (status)
    refuse(status_of_blas(status), "blas-error", std::string(function) + ": " + describe_blas(status));
}

}  // namespace jitc::cuda

// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include "api/common/guard.h"

using namespace jitc::api;

// cuFFT: libcufft
JITC_EXPORT int32_t cufftCreate() { return refuse_unserved("cuFFT", "cufftCreate", 16); }
JITC_EXPORT int32_t cufftPlan1d() { return refuse_unserved("cuFFT", "cufftPlan1d", 16); }
JITC_EXPORT int32_t cufftPlan2d() { return refuse_unserved("cuFFT", "cufftPlan2d", 16); }
JITC_EXPORT int32_t cufftPlan3d() { return refuse_unserved("cuFFT", "cufftPlan3d", 16); }
JITC_EXPORT int32_t cufftPlanMany() { return refuse_unserved("cuFFT", "cufftPlanMany", 16); }

// cuSOLVER: libcusolver
JITC_EXPORT int32_t cusolverDnCreate() { return refuse_unserved("cuSOLVER", "cusolverDnCreate", 9); }
JITC_EXPORT int32_t cusolverMgCreate() { return refuse_unserved("cuSOLVER", "cusolverMgCreate", 9); }
JITC_EXPORT int32_t cusolverRfCreate() { return refuse_unserved("cuSOLVER", "cusolverRfCreate", 9); }
JITC_EXPORT int32_t cusolverSpCreate() { return refuse_unserved("cuSOLVER", "cusolverSpCreate", 9); }

// cuSPARSE: libcusparse
JITC_EXPORT int32_t cusparseCreate() { return refuse_unserved("cuSPARSE", "cusparseCreate", 10); }

// cuSPARSELt: libcusparseLt
JITC_EXPORT int32_t cusparseLtInit() { return refuse_unserved("cuSPARSELt", "cusparseLtInit", 10); }

// cuRAND: libcurand
JITC_EXPORT int32_t curandCreateGenerator() { return refuse_unserved("cuRAND", "curandCreateGenerator", 203); }

// NVSHMEM: libnvshmem_host
JITC_EXPORT int32_t nvshmemid_hostlib_init_attr() { return refuse_unserved("NVSHMEM", "nvshmemid_hostlib_init_attr", 3); }
JITC_EXPORT int32_t nvshmemx_hostlib_init_attr() { return refuse_unserved("NVSHMEM", "nvshmemx_hostlib_init_attr", 3); }

// cuFile: libcufile
JITC_EXPORT int32_t cuFileBufRegister() { return refuse_unserved("cuFile", "cuFileBufRegister", 5007); }
JITC_EXPORT int32_t cuFileDriverOpen() { return refuse_unserved("cuFile", "cuFileDriverOpen", 5007); }
JITC_EXPORT int32_t cuFileHandleRegister() { return refuse_unserved("cuFile", "cuFileHandleRegister", 5007); }

// CUPTI: libcupti
JITC_EXPORT int32_t cuptiActivityEnable() { return refuse_unserved("CUPTI", "cuptiActivityEnable", 27); }
JITC_EXPORT int32_t cuptiActivityRegisterCallbacks() { return refuse_unserved("CUPTI", "cuptiActivityRegisterCallbacks", 27); }
JITC_EXPORT int32_t cuptiSubscribe() { return refuse_unserved("CUPTI", "cuptiSubscribe", 27); }
JITC_EXPORT int32_t cuptiSubscribe_v2() { return refuse_unserved("CUPTI", "cuptiSubscribe_v2", 27); }

namespace jitc::api {
const Unserved kUnserved[] = {
    {"libcufft.so", "cuFFT"},
    {"libcusolver.so", "cuSOLVER"},
    {"libcusparse.so", "cuSPARSE"},
    {"libcusparseLt.so", "cuSPARSELt"},
    {"libcurand.so", "cuRAND"},
    {"libnvshmem_host.so", "NVSHMEM"},
    {"libcufile.so", "cuFile"},
    {"libcupti.so", "CUPTI"},
};
const unsigned kUnservedCount = 8;

}  // namespace jitc::api

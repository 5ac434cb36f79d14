// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include "api/common/guard.h"

using namespace jitc::api;

// cuFFT: libcufft
JITC_EXPORT int32_t cufftCreate() { return refuse_unserved(kUnserved[0], "cufftCreate", 16); }
JITC_EXPORT int32_t cufftPlan1d() { return refuse_unserved(kUnserved[0], "cufftPlan1d", 16); }
JITC_EXPORT int32_t cufftPlan2d() { return refuse_unserved(kUnserved[0], "cufftPlan2d", 16); }
JITC_EXPORT int32_t cufftPlan3d() { return refuse_unserved(kUnserved[0], "cufftPlan3d", 16); }
JITC_EXPORT int32_t cufftPlanMany() { return refuse_unserved(kUnserved[0], "cufftPlanMany", 16); }

// cuSOLVER: libcusolver
JITC_EXPORT int32_t cusolverDnCreate() { return refuse_unserved(kUnserved[1], "cusolverDnCreate", 9); }
JITC_EXPORT int32_t cusolverMgCreate() { return refuse_unserved(kUnserved[1], "cusolverMgCreate", 9); }
JITC_EXPORT int32_t cusolverRfCreate() { return refuse_unserved(kUnserved[1], "cusolverRfCreate", 9); }
JITC_EXPORT int32_t cusolverSpCreate() { return refuse_unserved(kUnserved[1], "cusolverSpCreate", 9); }

// cuSPARSE: libcusparse
JITC_EXPORT int32_t cusparseCreate() { return refuse_unserved(kUnserved[2], "cusparseCreate", 10); }

// cuSPARSELt: libcusparseLt
JITC_EXPORT int32_t cusparseLtInit() { return refuse_unserved(kUnserved[3], "cusparseLtInit", 10); }

// cuRAND: libcurand
JITC_EXPORT int32_t curandCreateGenerator() { return refuse_unserved(kUnserved[4], "curandCreateGenerator", 203); }

// NVSHMEM: libnvshmem_host
JITC_EXPORT int32_t nvshmemid_hostlib_init_attr() { return refuse_unserved(kUnserved[5], "nvshmemid_hostlib_init_attr", 3); }
JITC_EXPORT int32_t nvshmemx_hostlib_init_attr() { return refuse_unserved(kUnserved[5], "nvshmemx_hostlib_init_attr", 3); }

// cuFile: libcufile
JITC_EXPORT int32_t cuFileBufRegister() { return refuse_unserved(kUnserved[6], "cuFileBufRegister", 5007); }
JITC_EXPORT int32_t cuFileDriverOpen() { return refuse_unserved(kUnserved[6], "cuFileDriverOpen", 5007); }
JITC_EXPORT int32_t cuFileHandleRegister() { return refuse_unserved(kUnserved[6], "cuFileHandleRegister", 5007); }

// CUPTI: libcupti
JITC_EXPORT int32_t cuptiActivityEnable() { return refuse_unserved(kUnserved[7], "cuptiActivityEnable", 27); }
JITC_EXPORT int32_t cuptiActivityRegisterCallbacks() { return refuse_unserved(kUnserved[7], "cuptiActivityRegisterCallbacks", 27); }
JITC_EXPORT int32_t cuptiSubscribe() { return refuse_unserved(kUnserved[7], "cuptiSubscribe", 27); }
JITC_EXPORT int32_t cuptiSubscribe_v2() { return refuse_unserved(kUnserved[7], "cuptiSubscribe_v2", 27); }

namespace jitc::api {
const Unserved kUnserved[] = {
    {"libcufft.so", "cuFFT", "transform on the CPU"},
    {"libcusolver.so", "cuSOLVER", "solve on the CPU"},
    {"libcusparse.so", "cuSPARSE", "multiply dense tensors, or on the CPU"},
    {"libcusparseLt.so", "cuSPARSELt", "multiply dense tensors"},
    {"libcurand.so", "cuRAND", "use PyTorch's generators, or cuRAND's on the host"},
    {"libnvshmem_host.so", "NVSHMEM", "use NCCL's collectives"},
    {"libcufile.so", "cuFile", "read and write files by way of the host"},
    {"libcupti.so", "CUPTI", "profile without ProfilerActivity.CUDA"},
};
const unsigned kUnservedCount = 8;

const StaticRuntime kStaticRuntimes[] = {
    {"/cupy", "CuPy's wheels up to 12.3 load the runtime as a library"},
    {"/bitsandbytes", "use PyTorch's own optimizers and types"},
};
const unsigned kStaticRuntimeCount = 2;

}  // namespace jitc::api

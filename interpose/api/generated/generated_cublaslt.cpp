// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include "generated_api.h"
#include "api/common/guard.h"

using namespace jitc::api;

// cuBLASLt: libcublasLt.so.13
namespace {
constexpr const char* kAdvice0 = "choosing an algorithm by hand is not supported: leave TunableOp off, use cublasLtMatmulAlgoGetHeuristic";
constexpr const char* kAdvice1 = "copy or transpose with the framework's own operators";
constexpr const char* kAdvice2 = "create the object with its ...Create function";
}  // namespace

JITC_EXPORT int32_t cublasLtCreate(uint64_t* handle) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtCreate(handle); }); }
JITC_EXPORT int32_t cublasLtDestroy(uint64_t handle) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtDestroy(handle); }); }
JITC_EXPORT size_t cublasLtGetCudartVersion() { return ::jitc::api::cublasLtGetCudartVersion(); }
JITC_EXPORT const char* cublasLtGetStatusName(int32_t status) { return ::jitc::api::cublasGetStatusName(status); }
JITC_EXPORT const char* cublasLtGetStatusString(int32_t status) { return ::jitc::api::cublasGetStatusString(status); }
JITC_EXPORT size_t cublasLtGetVersion() { return ::jitc::api::cublasLtGetVersion(); }
JITC_EXPORT int32_t cublasLtMatmul(uint64_t handle, uint64_t desc, const void* alpha, uint64_t a, uint64_t layout_a, uint64_t b, uint64_t layout_b, const void* beta, uint64_t c, uint64_t layout_c, uint64_t d, uint64_t layout_d, const Algorithm* algorithm, uint64_t workspace, size_t workspace_bytes, uint64_t stream) { return guard_cublaslt<true>([&] { return ::jitc::api::cublasLtMatmul(handle, desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algorithm, workspace, workspace_bytes, stream); }); }
JITC_EXPORT int32_t cublasLtMatmulAlgoGetHeuristic(uint64_t handle, uint64_t desc, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t preference, int32_t requested, Heuristic* results, int32_t* count) { return guard_cublaslt<true>([&] { return ::jitc::api::cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d, preference, requested, results, count); }); }
JITC_EXPORT int32_t cublasLtMatmulDescCreate(uint64_t* desc, int32_t compute, int32_t scale_type) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatmulDescCreate(desc, compute, scale_type); }); }
JITC_EXPORT int32_t cublasLtMatmulDescDestroy(uint64_t desc) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatmulDescDestroy(desc); }); }
JITC_EXPORT int32_t cublasLtMatmulDescGetAttribute(uint64_t desc, int32_t attribute, void* value, size_t size, size_t* written) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatmulDescGetAttribute(desc, attribute, value, size, written); }); }
JITC_EXPORT int32_t cublasLtMatmulDescSetAttribute(uint64_t desc, int32_t attribute, const void* value, size_t size) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatmulDescSetAttribute(desc, attribute, value, size); }); }
JITC_EXPORT int32_t cublasLtMatmulPreferenceCreate(uint64_t* preference) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatmulPreferenceCreate(preference); }); }
JITC_EXPORT int32_t cublasLtMatmulPreferenceDestroy(uint64_t preference) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatmulPreferenceDestroy(preference); }); }
JITC_EXPORT int32_t cublasLtMatmulPreferenceSetAttribute(uint64_t preference, int32_t attribute, const void* value, size_t size) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, size); }); }
JITC_EXPORT int32_t cublasLtMatrixLayoutCreate(uint64_t* layout, int32_t type, uint64_t rows, uint64_t columns, int64_t ld) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatrixLayoutCreate(layout, type, rows, columns, ld); }); }
JITC_EXPORT int32_t cublasLtMatrixLayoutDestroy(uint64_t layout) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatrixLayoutDestroy(layout); }); }
JITC_EXPORT int32_t cublasLtMatrixLayoutGetAttribute(uint64_t layout, int32_t attribute, void* value, size_t size, size_t* written) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatrixLayoutGetAttribute(layout, attribute, value, size, written); }); }
JITC_EXPORT int32_t cublasLtMatrixLayoutSetAttribute(uint64_t layout, int32_t attribute, const void* value, size_t size) { return guard_cublaslt<false>([&] { return ::jitc::api::cublasLtMatrixLayoutSetAttribute(layout, attribute, value, size); }); }

JITC_EXPORT int32_t cublasLtMatmulAlgoCapGetAttribute() { return refuse_cublaslt("cublasLtMatmulAlgoCapGetAttribute", kAdvice0); }
JITC_EXPORT int32_t cublasLtMatmulAlgoCheck() { return refuse_cublaslt("cublasLtMatmulAlgoCheck", kAdvice0); }
JITC_EXPORT int32_t cublasLtMatmulAlgoConfigGetAttribute() { return refuse_cublaslt("cublasLtMatmulAlgoConfigGetAttribute", kAdvice0); }
JITC_EXPORT int32_t cublasLtMatmulAlgoConfigSetAttribute() { return refuse_cublaslt("cublasLtMatmulAlgoConfigSetAttribute", kAdvice0); }
JITC_EXPORT int32_t cublasLtMatmulAlgoGetIds() { return refuse_cublaslt("cublasLtMatmulAlgoGetIds", kAdvice0); }
JITC_EXPORT int32_t cublasLtMatmulAlgoInit() { return refuse_cublaslt("cublasLtMatmulAlgoInit", kAdvice0); }
JITC_EXPORT int32_t cublasLtMatmulDescInit_internal() { return refuse_cublaslt("cublasLtMatmulDescInit_internal", kAdvice2); }
JITC_EXPORT int32_t cublasLtMatmulPreferenceGetAttribute() { return refuse_cublaslt("cublasLtMatmulPreferenceGetAttribute", kAdvice2); }
JITC_EXPORT int32_t cublasLtMatmulPreferenceInit_internal() { return refuse_cublaslt("cublasLtMatmulPreferenceInit_internal", kAdvice2); }
JITC_EXPORT int32_t cublasLtMatrixLayoutInit_internal() { return refuse_cublaslt("cublasLtMatrixLayoutInit_internal", kAdvice2); }
JITC_EXPORT int32_t cublasLtMatrixTransform() { return refuse_cublaslt("cublasLtMatrixTransform", kAdvice1); }
JITC_EXPORT int32_t cublasLtMatrixTransformDescCreate() { return refuse_cublaslt("cublasLtMatrixTransformDescCreate", kAdvice1); }
JITC_EXPORT int32_t cublasLtMatrixTransformDescDestroy() { return refuse_cublaslt("cublasLtMatrixTransformDescDestroy", kAdvice1); }
JITC_EXPORT int32_t cublasLtMatrixTransformDescGetAttribute() { return refuse_cublaslt("cublasLtMatrixTransformDescGetAttribute", kAdvice1); }
JITC_EXPORT int32_t cublasLtMatrixTransformDescInit_internal() { return refuse_cublaslt("cublasLtMatrixTransformDescInit_internal", kAdvice2); }
JITC_EXPORT int32_t cublasLtMatrixTransformDescSetAttribute() { return refuse_cublaslt("cublasLtMatrixTransformDescSetAttribute", kAdvice1); }

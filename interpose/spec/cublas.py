"""cuBLAS (libcublas.so.13): what matrix products need is served, the rest refused. See ``api.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Api, Custom, Function, Local, Op, unsupported

_HANDLE: tuple[Function, ...] = (
    Local("cublasCreate_v2", "out handle: blas"),
    Local("cublasDestroy_v2", "handle: blas"),
    Local("cublasGetVersion_v2", "handle: blas", "out version: int"),
    Local("cublasGetProperty", "property: enum", "out value: int"),
    Local("cublasGetStatusName", "status: enum", returns="text"),
    Local("cublasGetStatusString", "status: enum", returns="text"),
    Local("cublasSetStream_v2", "handle: blas", "stream: stream"),
    Local("cublasGetStream_v2", "handle: blas", "out stream: stream"),
    Local("cublasSetWorkspace_v2", "handle: blas", "workspace: address", "bytes: size", note="accepted, not used"),
    Local("cublasSetMathMode", "handle: blas", "mode: enum"),
    Local("cublasGetMathMode", "handle: blas", "out mode: enum"),
    Local("cublasSetPointerMode_v2", "handle: blas", "mode: enum"),
    Local("cublasGetPointerMode_v2", "handle: blas", "out mode: enum"),
    Local("cublasSetAtomicsMode", "handle: blas", "mode: enum", note="always deterministic"),
    Local("cublasGetAtomicsMode", "handle: blas", "out mode: enum"),
)

_SHAPE = ("transpose_a: enum", "transpose_b: enum", "m: int", "n: int", "k: int")


def _gemm(name: str, scalar: str) -> Function:
    return Op(
        name,
        "handle: blas",
        *_SHAPE,
        f"in alpha: {scalar}",
        "a: address",
        "lda: int",
        "b: address",
        "ldb: int",
        f"in beta: {scalar}",
        "c: address",
        "ldc: int",
        ops="matmul",
    )


def _batched(name: str, scalar: str) -> Function:
    return Op(
        name,
        "handle: blas",
        *_SHAPE,
        f"in alpha: {scalar}",
        "a: address",
        "lda: int",
        "stride_a: i64",
        "b: address",
        "ldb: int",
        "stride_b: i64",
        f"in beta: {scalar}",
        "c: address",
        "ldc: int",
        "stride_c: i64",
        "batch: int",
        ops="matmul",
    )


def _ex(name: str) -> Function:
    return Op(
        name,
        "handle: blas",
        *_SHAPE,
        "in alpha: opaque",
        "a: address",
        "type_a: enum",
        "lda: int",
        "b: address",
        "type_b: enum",
        "ldb: int",
        "in beta: opaque",
        "c: address",
        "type_c: enum",
        "ldc: int",
        "compute: enum",
        "algorithm: enum",
        ops="matmul",
    )


_PRODUCTS: tuple[Function, ...] = (
    _gemm("cublasSgemm_v2", "float"),
    _gemm("cublasDgemm_v2", "double"),
    _gemm("cublasHgemm", "u16"),
    _batched("cublasSgemmStridedBatched", "float"),
    _batched("cublasDgemmStridedBatched", "double"),
    _batched("cublasHgemmStridedBatched", "u16"),
    _ex("cublasGemmEx"),
    Op(
        "cublasSgemmEx",
        "handle: blas",
        *_SHAPE,
        "in alpha: float",
        "a: address",
        "type_a: enum",
        "lda: int",
        "b: address",
        "type_b: enum",
        "ldb: int",
        "in beta: float",
        "c: address",
        "type_c: enum",
        "ldc: int",
        ops="matmul",
    ),
    Op(
        "cublasGemmStridedBatchedEx",
        "handle: blas",
        *_SHAPE,
        "in alpha: opaque",
        "a: address",
        "type_a: enum",
        "lda: int",
        "stride_a: i64",
        "b: address",
        "type_b: enum",
        "ldb: int",
        "stride_b: i64",
        "in beta: opaque",
        "c: address",
        "type_c: enum",
        "ldc: int",
        "stride_c: i64",
        "batch: int",
        "compute: enum",
        "algorithm: enum",
        ops="matmul",
    ),
    *(
        Op(
            f"cublas{letter}gemv_v2",
            "handle: blas",
            "transpose: enum",
            "m: int",
            "n: int",
            f"in alpha: {scalar}",
            "a: address",
            "lda: int",
            "x: address",
            "incx: int",
            f"in beta: {scalar}",
            "y: address",
            "incy: int",
            ops="matmul",
        )
        for letter, scalar in (("S", "float"), ("D", "double"))
    ),
    *(
        Custom(
            f"cublas{letter}dot_v2",
            "handle: blas",
            "n: int",
            "x: address",
            "incx: int",
            "y: address",
            "incy: int",
            f"out result: {scalar}",
            ops="matmul",
            note="result in device memory only",
        )
        for letter, scalar in (("S", "float"), ("D", "double"))
    ),
    Custom(
        "cublasDotEx",
        "handle: blas",
        "n: int",
        "x: address",
        "type_x: enum",
        "incx: int",
        "y: address",
        "type_y: enum",
        "incy: int",
        "out result: opaque",
        "type_result: enum",
        "type_compute: enum",
        ops="matmul",
        note="result in device memory only",
    ),
)

_USE_GEMM = "only matrix products (gemm, gemv, dot) of real numbers are served: let PyTorch's own operator do it"
_REFUSED = (
    *unsupported(
        "batches given as arrays of pointers are not served: use the strided form",
        """
    cublasCgemmBatched cublasDgemmBatched cublasSgemmBatched cublasZgemmBatched cublasHgemmBatched
    cublasGemmBatchedEx cublasGemmGroupedBatchedEx cublasSgemmGroupedBatched cublasDgemmGroupedBatched""",
    ),
    *unsupported(
        "complex products are not served on the software device: use real numbers or the CPU",
        """
    cublasCgemm_v2 cublasCgemmStridedBatched cublasCgemv_v2 cublasCdotc_v2 cublasCdotu_v2
    cublasZgemm_v2 cublasZgemmStridedBatched cublasZgemv_v2 cublasZdotc_v2 cublasZdotu_v2""",
    ),
    *unsupported(
        _USE_GEMM,
        """
    cublasCaxpy_v2 cublasCcopy_v2 cublasCgelsBatched cublasCgeqrfBatched cublasCgerc_v2 cublasCgeru_v2
    cublasCgetrfBatched cublasCgetrsBatched cublasChemm_v2 cublasChemv_v2 cublasCher2_v2 cublasCher2k_v2
    cublasCher_v2 cublasCherk_v2 cublasCrot_v2 cublasCrotg_v2 cublasCscal_v2 cublasCsrot_v2 cublasCsscal_v2
    cublasCswap_v2 cublasCsymm_v2 cublasCsymv_v2 cublasCsyr2_v2 cublasCsyr2k_v2 cublasCsyr_v2 cublasCsyrk_v2
    cublasCtrmm_v2 cublasCtrmv_v2 cublasCtrsmBatched cublasCtrsm_v2 cublasCtrsv_v2 cublasDasum_v2 cublasDaxpy_v2
    cublasDcopy_v2 cublasDgelsBatched cublasDgeqrfBatched cublasDger_v2 cublasDgetrfBatched cublasDgetrsBatched
    cublasDnrm2_v2 cublasDrot_v2 cublasDrotg_v2 cublasDrotm_v2 cublasDrotmg_v2 cublasDscal_v2 cublasDswap_v2
    cublasDsymm_v2 cublasDsymv_v2 cublasDsyr2_v2 cublasDsyr2k_v2 cublasDsyr_v2 cublasDsyrk_v2 cublasDtrmm_v2
    cublasDtrmv_v2 cublasDtrsmBatched cublasDtrsm_v2 cublasDtrsv_v2 cublasDzasum_v2 cublasDznrm2_v2
    cublasIcamax_v2 cublasIcamin_v2 cublasIdamax_v2 cublasIdamin_v2 cublasIsamax_v2 cublasIsamin_v2
    cublasIzamax_v2 cublasIzamin_v2 cublasSasum_v2 cublasSaxpy_v2 cublasScasum_v2 cublasScnrm2_v2 cublasScopy_v2
    cublasSgelsBatched cublasSgeqrfBatched cublasSger_v2 cublasSgetrfBatched cublasSgetrsBatched cublasSnrm2_v2
    cublasSrot_v2 cublasSrotg_v2 cublasSrotm_v2 cublasSrotmg_v2 cublasSscal_v2 cublasSswap_v2 cublasSsymm_v2
    cublasSsymv_v2 cublasSsyr2_v2 cublasSsyr2k_v2 cublasSsyr_v2 cublasSsyrk_v2 cublasStrmm_v2 cublasStrmv_v2
    cublasStrsmBatched cublasStrsm_v2 cublasStrsv_v2 cublasZaxpy_v2 cublasZcopy_v2 cublasZdrot_v2 cublasZdscal_v2
    cublasZgelsBatched cublasZgeqrfBatched cublasZgerc_v2 cublasZgeru_v2 cublasZgetrfBatched cublasZgetrsBatched
    cublasZhemm_v2 cublasZhemv_v2 cublasZher2_v2 cublasZher2k_v2 cublasZher_v2 cublasZherk_v2 cublasZrot_v2
    cublasZrotg_v2 cublasZscal_v2 cublasZswap_v2 cublasZsymm_v2 cublasZsymv_v2 cublasZsyr2_v2 cublasZsyr2k_v2
    cublasZsyr_v2 cublasZsyrk_v2 cublasZtrmm_v2 cublasZtrmv_v2 cublasZtrsmBatched cublasZtrsm_v2 cublasZtrsv_v2
    cublasAxpyEx cublasNrm2Ex cublasScalEx cublasRotEx cublasDotcEx""",
    ),
    *unsupported(
        "copy with cudaMemcpyAsync or cudaMemcpy2DAsync",
        """
    cublasGetMatrix cublasGetMatrixAsync cublasGetVector cublasGetVectorAsync cublasSetMatrix
    cublasSetMatrixAsync cublasSetVector cublasSetVectorAsync""",
    ),
)

API = Api("cuBLAS", "cublas", "libcublas.so.13", "cublas_v2.h", 15, (*_HANDLE, *_PRODUCTS, *_REFUSED))

"""cuBLAS (libcublas.so.13): handles, and the products that every device serves. See ``api.py``.

On the software device a product becomes the op ``matmul``; on a device with kernels every call is sent unchanged
(``library_call``), so that its result is the library's own, bit by bit. Functions that only such a device serves are in
``kernels.py``.
"""

from __future__ import annotations

from jitc.interpose.spec.api import Api, Custom, Function, Local, Op, unsupported
from jitc.interpose.spec.cublas import kernels, shapes
from jitc.interpose.spec.cublas.shapes import KINDS, Arguments

_HANDLE: tuple[Function, ...] = (
    Op("cublasCreate_v2", "out handle: blas", ops="blas_create"),
    Op("cublasDestroy_v2", "handle: blas", ops="blas_destroy"),
    Local("cublasGetVersion_v2", "handle: blas", "out version: int"),
    Local("cublasGetProperty", "property: enum", "out value: int"),
    Local("cublasGetStatusName", "status: enum", returns="text"),
    Local("cublasGetStatusString", "status: enum", returns="text"),
    Local("cublasSetStream_v2", "handle: blas", "stream: stream"),
    Local("cublasGetStream_v2", "handle: blas", "out stream: stream"),
    Op("cublasSetWorkspace_v2", "handle: blas", "workspace: address", "bytes: size", ops="blas_set"),
    Op("cublasSetMathMode", "handle: blas", "mode: enum", ops="blas_set"),
    Local("cublasGetMathMode", "handle: blas", "out mode: enum"),
    Op("cublasSetPointerMode_v2", "handle: blas", "mode: enum", ops="blas_set"),
    Local("cublasGetPointerMode_v2", "handle: blas", "out mode: enum"),
    Op("cublasSetAtomicsMode", "handle: blas", "mode: enum", ops="blas_set"),
    Local("cublasGetAtomicsMode", "handle: blas", "out mode: enum"),
    Local("cublasSetSmCountTarget", "handle: blas", "count: int", note="a hint for speed: accepted, no effect"),
)


def _product(name: str, arguments: Arguments) -> Function:
    return Op(f"cublas{name}", "handle: blas", *arguments, ops="matmul library_call")


def _dot(name: str, arguments: Arguments) -> Function:
    note = "on the software device: result in device memory only"
    return Custom(f"cublas{name}", "handle: blas", *arguments, ops="matmul library_call", note=note)


_EX = ("compute: enum", "algorithm: enum")
_PRODUCTS: tuple[Function, ...] = (
    *(_product(f"{letter}gemm{'' if letter == 'H' else '_v2'}", shapes.gemm(KINDS[letter])) for letter in "SDH"),
    *(_product(f"{letter}gemmStridedBatched", shapes.gemm(KINDS[letter], strided=True)) for letter in "SDH"),
    _product("SgemmEx", shapes.gemm("float", typed=True)),
    _product("GemmEx", (*shapes.gemm("scalar[compute]", typed=True), *_EX)),
    _product("GemmStridedBatchedEx", (*shapes.gemm("scalar[compute]", typed=True, strided=True), *_EX)),
    *(_product(f"{letter}gemv_v2", shapes.gemv(KINDS[letter])) for letter in "SD"),
    *(_dot(f"{letter}dot_v2", shapes.dot(KINDS[letter])) for letter in "SD"),
    _dot("DotEx", (*shapes.dot("scalar[type_result]", typed=True), "type_result: enum", "compute: enum")),
)

_REFUSED = (
    *unsupported(
        "arguments in arrays on the host are not served: use cublasGemmBatchedEx, or the strided form",
        "cublasGemmGroupedBatchedEx cublasSgemmGroupedBatched cublasDgemmGroupedBatched",
    ),
    *unsupported(
        "compute the rotation in the program",
        """
    cublasCrotg_v2 cublasDrotg_v2 cublasDrotm_v2 cublasDrotmg_v2 cublasSrotg_v2 cublasSrotm_v2 cublasSrotmg_v2
    cublasZrotg_v2""",
    ),
    *unsupported(
        "copy with cudaMemcpyAsync or cudaMemcpy2DAsync",
        """
    cublasGetMatrix cublasGetMatrixAsync cublasGetVector cublasGetVectorAsync cublasSetMatrix
    cublasSetMatrixAsync cublasSetVector cublasSetVectorAsync""",
    ),
)

CUBLAS = Api(
    "cuBLAS",
    "cublas",
    "libcublas.so.13",
    "cublas_v2.h",
    15,
    (*_HANDLE, *_PRODUCTS, *kernels.FUNCTIONS, *_REFUSED),
)

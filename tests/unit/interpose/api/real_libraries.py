"""What NVIDIA's own libraries say where they need no GPU; run by test_real_libraries.py, in a process of its own.

`real_libraries.py CUDART NCCL CUBLAS CUBLASLT CUDNN`: prints JSON: texts by function and code, and the bytes of each
cuBLASLt attribute by object and number. A path of our own library in the place of the first five gives ours.
"""

from __future__ import annotations

import ctypes
import json
import sys
from ctypes import byref, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

from jitc.interpose.spec.cublas.lt import ATTRIBUTES

CODES = {"cuda": range(1100), "nccl": range(8), "cublas": range(20), "cudnn": range(6000)}


def texts(library: str, *functions: str, codes: range) -> dict[str, list[str]]:
    loaded = ctypes.CDLL(library)
    out = {}
    for name in functions:
        function = getattr(loaded, name)
        function.restype = c_char_p
        out[name] = [function(code).decode() for code in codes]
    return out


def attribute_bytes(library: str) -> dict[str, dict[str, int]]:
    """By asking for the size alone."""
    lt = ctypes.CDLL(library)
    lt.cublasLtMatrixLayoutCreate.argtypes = [c_void_p, c_int, c_uint64, c_uint64, c_int64]
    made = {kind: c_void_p() for kind in ATTRIBUTES}
    assert lt.cublasLtMatmulDescCreate(byref(made["MATMUL_DESC"]), 68, 0) == 0
    assert lt.cublasLtMatrixLayoutCreate(byref(made["MATRIX_LAYOUT"]), 0, 4, 4, 4) == 0
    assert lt.cublasLtMatmulPreferenceCreate(byref(made["MATMUL_PREF"])) == 0
    names = {"MATMUL_DESC": "MatmulDesc", "MATRIX_LAYOUT": "MatrixLayout", "MATMUL_PREF": "MatmulPreference"}
    out: dict[str, dict[str, int]] = {}
    for kind, attributes in ATTRIBUTES.items():
        get = getattr(lt, f"cublasLt{names[kind]}GetAttribute")
        for number in attributes:
            written = c_size_t()
            assert get(made[kind], number, None, c_size_t(0), byref(written)) == 0, (kind, number)
            out.setdefault(kind, {})[str(number)] = written.value
    return out


def main() -> None:
    cudart, nccl, cublas, cublaslt, cudnn = sys.argv[1:]
    out: dict[str, object] = {
        **texts(cudart, "cudaGetErrorName", "cudaGetErrorString", codes=CODES["cuda"]),
        **texts(nccl, "ncclGetErrorString", codes=CODES["nccl"]),
        **texts(cublas, "cublasGetStatusName", codes=CODES["cublas"]),
        **texts(cudnn, "cudnnGetErrorString", codes=CODES["cudnn"]),
    }
    if cublaslt != cublas:
        out["attributes"] = attribute_bytes(cublaslt)
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()

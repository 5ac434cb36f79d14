"""cuBLAS functions that only a device with kernels serves: each call is sent unchanged. See ``api.py``.

Called by ``functions.py``. Promise: each function has its arguments, and the advice that the software device gives.
Functions that no device serves are in ``functions.py``.
"""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function, Op
from jitc.interpose.spec.cublas import shapes
from jitc.interpose.spec.cublas.shapes import KINDS, REAL, Arguments

_ARRAYS = "batches given as arrays of pointers are not served: use the strided form"
_COMPLEX = "complex products are not served on the software device: use real numbers or the CPU"
_USE_GEMM = "only matrix products (gemm, gemv, dot) of real numbers are served: let PyTorch's own operator do it"


def _call(name: str, arguments: Arguments, advice: str = _USE_GEMM) -> Function:
    """Returns one function; the caller waits for a result that may go to the host."""
    waits = any(argument.startswith("out result") for argument in arguments)
    make = Custom if waits else Op
    return make(f"cublas{name}", "handle: blas", *arguments, ops="library_call", kernels=advice)


def _products() -> tuple[Function, ...]:
    complex_ones = {letter: KINDS[letter] for letter in "CZ"}
    return (
        *(_call(f"{letter}gemm_v2", shapes.gemm(kind), _COMPLEX) for letter, kind in complex_ones.items()),
        *(
            _call(f"{letter}gemmStridedBatched", shapes.gemm(kind, strided=True), _COMPLEX)
            for letter, kind in complex_ones.items()
        ),
        *(_call(f"{letter}gemv_v2", shapes.gemv(kind), _COMPLEX) for letter, kind in complex_ones.items()),
        *(
            _call(f"{letter}dot{form}_v2", shapes.dot(kind), _COMPLEX)
            for letter, kind in complex_ones.items()
            for form in "cu"
        ),
        *(_call(f"{letter}gemmBatched", shapes.gemm(kind, batched=True), _ARRAYS) for letter, kind in KINDS.items()),
        _call(
            "GemmBatchedEx",
            (*shapes.gemm("scalar[compute]", typed=True, batched=True), "compute: enum", "algorithm: enum"),
            _ARRAYS,
        ),
    )


def _vectors(letter: str) -> tuple[Function, ...]:
    """Returns the functions of levels 1 and 2 for one type."""
    kind, real, is_complex = KINDS[letter], REAL[letter], letter in "CZ"
    of_real = {"C": "Sc", "Z": "Dz"}.get(letter, letter)
    by_real = {"C": "Cs", "Z": "Zd"}.get(letter, letter)
    name = letter.lower()
    out = [
        _call(f"{of_real}nrm2_v2", shapes.norm(real)),
        _call(f"{of_real}asum_v2", shapes.norm(real)),
        _call(f"I{name}amax_v2", shapes.norm("int")),
        _call(f"I{name}amin_v2", shapes.norm("int")),
        _call(f"{letter}scal_v2", shapes.scal(kind)),
        _call(f"{letter}axpy_v2", shapes.axpy(kind)),
        _call(f"{letter}copy_v2", shapes.copy()),
        _call(f"{letter}swap_v2", shapes.copy()),
        _call(f"{letter}rot_v2", shapes.rot(real, kind)),
        _call(f"{letter}trmv_v2", shapes.triangular_vector()),
        _call(f"{letter}trsv_v2", shapes.triangular_vector()),
        _call(f"{letter}symv_v2", shapes.symmetric_vector(kind)),
        _call(f"{letter}syr_v2", shapes.rank_one(kind)),
        _call(f"{letter}syr2_v2", shapes.rank_two(kind)),
    ]
    if not is_complex:
        return (*out, _call(f"{letter}ger_v2", shapes.ger(kind)))
    return (
        *out,
        _call(f"{by_real}scal_v2", shapes.scal(real)),
        _call(f"{by_real}rot_v2", shapes.rot(real, real)),
        _call(f"{letter}geru_v2", shapes.ger(kind)),
        _call(f"{letter}gerc_v2", shapes.ger(kind)),
        _call(f"{letter}hemv_v2", shapes.symmetric_vector(kind)),
        _call(f"{letter}her_v2", shapes.rank_one(real)),
        _call(f"{letter}her2_v2", shapes.rank_two(kind)),
    )


def _matrices(letter: str) -> tuple[Function, ...]:
    """Returns the functions of level 3 without products, and batches of small systems, for one type."""
    kind, real = KINDS[letter], REAL[letter]
    a, solve, info = shapes.matrix("a"), ("transpose: enum",), ("out info: info",)
    out = [
        _call(f"{letter}symm_v2", shapes.symmetric_product(kind)),
        _call(f"{letter}syrk_v2", shapes.rank_k(kind, kind, "a")),
        _call(f"{letter}syr2k_v2", shapes.rank_k(kind, kind, "a", "b")),
        _call(f"{letter}trsm_v2", shapes.trsm(kind)),
        _call(f"{letter}trmm_v2", shapes.trmm(kind)),
        _call(f"{letter}geam", shapes.geam(kind)),
        _call(f"{letter}trsmBatched", (*shapes.trsm(kind), "batch: int")),
        _call(f"{letter}getrfBatched", ("n: int", *a, "pivots: address", "infos: address", "batch: int")),
        _call(
            f"{letter}getrsBatched",
            (*solve, "n: int", "columns: int", *a, "pivots: address", *shapes.matrix("b"), *info, "batch: int"),
        ),
        _call(
            f"{letter}geqrfBatched",
            ("m: int", "n: int", *a, "tau: address", *info, "batch: int"),
        ),
        _call(
            f"{letter}gelsBatched",
            (
                *solve,
                "m: int",
                "n: int",
                "columns: int",
                *a,
                *shapes.matrix("c"),
                *info,
                "infos: address",
                "batch: int",
            ),
        ),
    ]
    if letter in "SD":
        return tuple(out)
    return (
        *out,
        _call(f"{letter}hemm_v2", shapes.symmetric_product(kind)),
        _call(f"{letter}herk_v2", shapes.rank_k(real, real, "a")),
        _call(f"{letter}her2k_v2", shapes.rank_k(kind, real, "a", "b")),
    )


_X, _Y = shapes.vector("x", typed=True), shapes.vector("y", typed=True)
_ROTATION = ("in cosine: scalar[type_scalar]", "in sine: scalar[type_scalar]")
_TYPED: tuple[Function, ...] = (
    _call("AxpyEx", ("n: int", "in alpha: scalar[type_alpha]", "type_alpha: enum", *_X, *_Y, "compute: enum")),
    _call("ScalEx", ("n: int", "in alpha: scalar[type_alpha]", "type_alpha: enum", *_X, "compute: enum")),
    _call("Nrm2Ex", ("n: int", *_X, "out result: scalar[type_result]", "type_result: enum", "compute: enum")),
    _call("DotcEx", (*shapes.dot("scalar[type_result]", typed=True), "type_result: enum", "compute: enum")),
    _call(
        "RotEx",
        ("n: int", *_X, *_Y, *_ROTATION, "type_scalar: enum", "compute: enum"),
    ),
)

FUNCTIONS: tuple[Function, ...] = (
    *_products(),
    *(function for letter in "SDCZ" for function in (*_vectors(letter), *_matrices(letter))),
    *_TYPED,
)

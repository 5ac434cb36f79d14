"""Argument lists of cuBLAS functions, by pattern: one function per family of functions.

Called by ``cublas.py`` and ``cublas_kernels.py``. Promise: the arguments in the order of the header, without the
handle. ``kind`` is the type of the scalars (``float``, ``double``, ``half``, ``complex``, ``double_complex``).
"""

from __future__ import annotations

#: letter of a function's name -> type of its scalars
KINDS = {"S": "float", "D": "double", "H": "half", "C": "complex", "Z": "double_complex"}
#: the real type beside it
REAL = {"C": "float", "Z": "double", "S": "float", "D": "double"}

Arguments = tuple[str, ...]

_PRODUCT = ("transpose_a: enum", "transpose_b: enum", "m: int", "n: int", "k: int")
_TRIANGLE = ("side: enum", "fill: enum", "transpose: enum", "diagonal: enum", "m: int", "n: int")


def matrix(name: str, *, typed: bool = False, strided: bool = False) -> Arguments:
    """A matrix: its address, its type where the function asks for one, its leading dimension, its stride."""
    kind = (f"type_{name}: enum",) if typed else ()
    stride = (f"stride_{name}: i64",) if strided else ()
    return (f"{name}: address", *kind, f"ld{name}: int", *stride)


def vector(name: str, *, typed: bool = False) -> Arguments:
    kind = (f"type_{name}: enum",) if typed else ()
    return (f"{name}: address", *kind, f"inc{name}: int")


def gemm(kind: str, *, typed: bool = False, strided: bool = False, batched: bool = False) -> Arguments:
    """All of the gemm family; batched: arrays of pointers, in device memory."""
    a, b, c = (matrix(name, typed=typed, strided=strided) for name in "abc")
    batch = ("batch: int",) if strided or batched else ()
    return (*_PRODUCT, f"in alpha: {kind}", *a, *b, f"in beta: {kind}", *c, *batch)


def gemv(kind: str) -> Arguments:
    ax = (*matrix("a"), *vector("x"))
    return ("transpose: enum", "m: int", "n: int", f"in alpha: {kind}", *ax, f"in beta: {kind}", *vector("y"))


def dot(result: str, *, typed: bool = False) -> Arguments:
    return ("n: int", *vector("x", typed=typed), *vector("y", typed=typed), f"out result: {result}")


def norm(result: str) -> Arguments:
    """nrm2, asum, amax, amin."""
    return ("n: int", *vector("x"), f"out result: {result}")


def scal(kind: str) -> Arguments:
    return ("n: int", f"in alpha: {kind}", *vector("x"))


def axpy(kind: str) -> Arguments:
    return ("n: int", f"in alpha: {kind}", *vector("x"), *vector("y"))


def copy() -> Arguments:
    """copy, swap."""
    return ("n: int", *vector("x"), *vector("y"))


def rot(cosine: str, sine: str) -> Arguments:
    return (*copy(), f"in cosine: {cosine}", f"in sine: {sine}")


def triangular_vector() -> Arguments:
    """trmv, trsv."""
    return ("fill: enum", "transpose: enum", "diagonal: enum", "n: int", *matrix("a"), *vector("x"))


def symmetric_vector(kind: str) -> Arguments:
    """symv, hemv."""
    ax = (*matrix("a"), *vector("x"))
    return ("fill: enum", "n: int", f"in alpha: {kind}", *ax, f"in beta: {kind}", *vector("y"))


def ger(kind: str) -> Arguments:
    return ("m: int", "n: int", f"in alpha: {kind}", *vector("x"), *vector("y"), *matrix("a"))


def rank_one(kind: str) -> Arguments:
    """syr, her."""
    return ("fill: enum", "n: int", f"in alpha: {kind}", *vector("x"), *matrix("a"))


def rank_two(kind: str) -> Arguments:
    """syr2, her2."""
    return ("fill: enum", "n: int", f"in alpha: {kind}", *vector("x"), *vector("y"), *matrix("a"))


def symmetric_product(kind: str) -> Arguments:
    """symm, hemm."""
    ab = (*matrix("a"), *matrix("b"))
    shape = ("side: enum", "fill: enum", "m: int", "n: int")
    return (*shape, f"in alpha: {kind}", *ab, f"in beta: {kind}", *matrix("c"))


def rank_k(alpha: str, beta: str, *inputs: str) -> Arguments:
    """syrk, herk (inputs: a), syr2k, her2k (inputs: a, b)."""
    read = tuple(argument for name in inputs for argument in matrix(name))
    shape = ("fill: enum", "transpose: enum", "n: int", "k: int")
    return (*shape, f"in alpha: {alpha}", *read, f"in beta: {beta}", *matrix("c"))


def trsm(kind: str) -> Arguments:
    return (*_TRIANGLE, f"in alpha: {kind}", *matrix("a"), *matrix("b"))


def trmm(kind: str) -> Arguments:
    return (*trsm(kind), *matrix("c"))


def geam(kind: str) -> Arguments:
    shape = ("transpose_a: enum", "transpose_b: enum", "m: int", "n: int")
    return (*shape, f"in alpha: {kind}", *matrix("a"), f"in beta: {kind}", *matrix("b"), *matrix("c"))

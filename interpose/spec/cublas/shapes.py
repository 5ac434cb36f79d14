"""Argument lists of cuBLAS functions, by pattern: one function per family of functions.

Called by ``functions.py`` and ``kernels.py``. Promise: the arguments in the order of the header, without the
handle. ``kind`` is the type of the scalars (``float``, ``double``, ``half``, ``complex``, ``double_complex``).
"""

from __future__ import annotations

#: letter of a function's name -> type of its scalars
KINDS = {"S": "float", "D": "double", "H": "half", "C": "complex", "Z": "double_complex"}
#: letter of a function's name -> the real type that goes with its scalars
REAL = {"C": "float", "Z": "double", "S": "float", "D": "double"}

Arguments = tuple[str, ...]

_PRODUCT = ("transpose_a: enum", "transpose_b: enum", "m: count", "n: count", "k: count")
_TRIANGLE = ("side: enum", "fill: enum", "transpose: enum", "diagonal: enum", "m: count", "n: count")
_BY_SIDE = "side ? n : m"  # CUBLAS_SIDE_LEFT is 0


def matrix(name: str, rows: str = "", *, typed: bool = False, strided: bool = False) -> Arguments:
    """Returns a matrix: its address, its type where the function asks for one, its leading dimension, its stride.

    rows: the least that its leading dimension may be, where cuBLAS documents one.
    """
    kind = (f"type_{name}: enum",) if typed else ()
    stride = (f"stride_{name}: i64",) if strided else ()
    return (f"{name}: address", *kind, f"ld{name}: leading[{rows}]" if rows else f"ld{name}: int", *stride)


def vector(name: str, *, typed: bool = False, checked: bool = False) -> Arguments:
    """Returns a vector. checked: an increment of 0 is an error."""
    kind = (f"type_{name}: enum",) if typed else ()
    return (f"{name}: address", *kind, f"inc{name}: increment" if checked else f"inc{name}: int")


def _checked(*names: str) -> Arguments:
    return tuple(argument for name in names for argument in vector(name, checked=True))


def gemm(kind: str, *, typed: bool = False, strided: bool = False, batched: bool = False) -> Arguments:
    """Returns the arguments of the gemm family; batched: arrays of pointers, in device memory."""
    rows = {"a": "transpose_a ? k : m", "b": "transpose_b ? n : k", "c": "m"}
    a, b, c = (matrix(name, rows[name], typed=typed, strided=strided) for name in "abc")
    batch = ("batch: count",) if strided or batched else ()
    return (*_PRODUCT, f"in alpha: {kind}", *a, *b, f"in beta: {kind}", *c, *batch)


def gemv(kind: str) -> Arguments:
    ax = (*matrix("a", "m"), *_checked("x"))
    return ("transpose: enum", "m: count", "n: count", f"in alpha: {kind}", *ax, f"in beta: {kind}", *_checked("y"))


def dot(result: str, *, typed: bool = False) -> Arguments:
    return ("n: int", *vector("x", typed=typed), *vector("y", typed=typed), f"out result: {result}")


def norm(result: str) -> Arguments:
    """Returns the arguments of nrm2, asum, amax, amin."""
    return ("n: int", *vector("x"), f"out result: {result}")


def scal(kind: str) -> Arguments:
    return ("n: int", f"in alpha: {kind}", *vector("x"))


def axpy(kind: str) -> Arguments:
    return ("n: int", f"in alpha: {kind}", *vector("x"), *vector("y"))


def copy() -> Arguments:
    """Returns the arguments of copy, swap."""
    return ("n: int", *vector("x"), *vector("y"))


def rot(cosine: str, sine: str) -> Arguments:
    return (*copy(), f"in cosine: {cosine}", f"in sine: {sine}")


def triangular_vector() -> Arguments:
    """Returns the arguments of trmv, trsv."""
    return ("fill: enum", "transpose: enum", "diagonal: enum", "n: count", *matrix("a", "n"), *_checked("x"))


def symmetric_vector(kind: str) -> Arguments:
    """Returns the arguments of symv, hemv."""
    ax = (*matrix("a", "n"), *_checked("x"))
    return ("fill: enum", "n: count", f"in alpha: {kind}", *ax, f"in beta: {kind}", *_checked("y"))


def ger(kind: str) -> Arguments:
    return ("m: count", "n: count", f"in alpha: {kind}", *_checked("x", "y"), *matrix("a", "m"))


def rank_one(kind: str) -> Arguments:
    """Returns the arguments of syr, her."""
    return ("fill: enum", "n: count", f"in alpha: {kind}", *_checked("x"), *matrix("a", "n"))


def rank_two(kind: str) -> Arguments:
    """Returns the arguments of syr2, her2."""
    return ("fill: enum", "n: count", f"in alpha: {kind}", *_checked("x", "y"), *matrix("a", "n"))


def symmetric_product(kind: str) -> Arguments:
    """Returns the arguments of symm, hemm."""
    ab = (*matrix("a", _BY_SIDE), *matrix("b", "m"))
    shape = ("side: enum", "fill: enum", "m: count", "n: count")
    return (*shape, f"in alpha: {kind}", *ab, f"in beta: {kind}", *matrix("c", "m"))


def rank_k(alpha: str, beta: str, *inputs: str) -> Arguments:
    """Returns the arguments of syrk, herk (inputs: a), syr2k, her2k (inputs: a, b)."""
    read = tuple(argument for name in inputs for argument in matrix(name, "transpose ? k : n"))
    shape = ("fill: enum", "transpose: enum", "n: count", "k: count")
    return (*shape, f"in alpha: {alpha}", *read, f"in beta: {beta}", *matrix("c", "n"))


def trsm(kind: str) -> Arguments:
    return (*_TRIANGLE, f"in alpha: {kind}", *matrix("a", _BY_SIDE), *matrix("b", "m"))


def trmm(kind: str) -> Arguments:
    return (*trsm(kind), *matrix("c", "m"))


def geam(kind: str) -> Arguments:
    shape = ("transpose_a: enum", "transpose_b: enum", "m: count", "n: count")
    a, b = (matrix(name, f"transpose_{name} ? n : m") for name in "ab")
    return (*shape, f"in alpha: {kind}", *a, f"in beta: {kind}", *b, *matrix("c", "m"))

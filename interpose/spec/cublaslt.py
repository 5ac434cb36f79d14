"""cuBLASLt (libcublasLt.so.13): see ``api.py`` for how to read it."""

from __future__ import annotations

from jitc.interpose.spec.api import Api, Function, Local, Op, unsupported

_OBJECTS: tuple[Function, ...] = (
    Local("cublasLtCreate", "out handle: lt"),
    Local("cublasLtDestroy", "handle: lt"),
    Local("cublasLtGetVersion", returns="size"),
    Local("cublasLtGetCudartVersion", returns="size"),
    Local("cublasLtGetStatusName", "status: enum", returns="text", like="cublasGetStatusName"),
    Local("cublasLtGetStatusString", "status: enum", returns="text", like="cublasGetStatusString"),
    Local("cublasLtMatrixLayoutCreate", "out layout: layout", "type: enum", "rows: u64", "columns: u64", "ld: i64"),
    Local("cublasLtMatrixLayoutDestroy", "layout: layout"),
    Local(
        "cublasLtMatrixLayoutSetAttribute", "layout: layout", "attribute: enum", "in value: bytes[size]", "size: size"
    ),
    Local(
        "cublasLtMatrixLayoutGetAttribute",
        "layout: layout",
        "attribute: enum",
        "out value: bytes[size]",
        "size: size",
        "out written: size",
    ),
    Local("cublasLtMatmulDescCreate", "out desc: matmul_desc", "compute: enum", "scale_type: enum"),
    Local("cublasLtMatmulDescDestroy", "desc: matmul_desc"),
    Local(
        "cublasLtMatmulDescSetAttribute", "desc: matmul_desc", "attribute: enum", "in value: bytes[size]", "size: size"
    ),
    Local(
        "cublasLtMatmulDescGetAttribute",
        "desc: matmul_desc",
        "attribute: enum",
        "out value: bytes[size]",
        "size: size",
        "out written: size",
    ),
    Local("cublasLtMatmulPreferenceCreate", "out preference: preference"),
    Local("cublasLtMatmulPreferenceDestroy", "preference: preference"),
    Local(
        "cublasLtMatmulPreferenceSetAttribute",
        "preference: preference",
        "attribute: enum",
        "in value: bytes[size]",
        "size: size",
        note="accepted, no effect: there is one algorithm",
    ),
)

_PRODUCTS: tuple[Function, ...] = (
    Local(
        "cublasLtMatmulAlgoGetHeuristic",
        "handle: lt",
        "desc: matmul_desc",
        "a: layout",
        "b: layout",
        "c: layout",
        "d: layout",
        "preference: preference",
        "requested: int",
        "out results: heuristic",
        "out count: int",
        note="one algorithm, without workspace",
    ),
    Op(
        "cublasLtMatmul",
        "handle: lt",
        "desc: matmul_desc",
        "in alpha: opaque",
        "a: address",
        "layout_a: layout",
        "b: address",
        "layout_b: layout",
        "in beta: opaque",
        "c: address",
        "layout_c: layout",
        "d: address",
        "layout_d: layout",
        "in algorithm: algorithm",
        "workspace: address",
        "workspace_bytes: size",
        "stream: stream",
        ops="matmul",
        note="epilogues: none, bias, ReLU, GELU and with bias",
    ),
)

_REFUSED = (
    *unsupported(
        "use cublasLtMatmulAlgoGetHeuristic: there is one algorithm",
        """
    cublasLtMatmulAlgoCapGetAttribute cublasLtMatmulAlgoCheck cublasLtMatmulAlgoConfigGetAttribute
    cublasLtMatmulAlgoConfigSetAttribute cublasLtMatmulAlgoGetIds cublasLtMatmulAlgoInit""",
    ),
    *unsupported(
        "copy or transpose with the framework's own operators",
        """
    cublasLtMatrixTransform cublasLtMatrixTransformDescCreate cublasLtMatrixTransformDescDestroy
    cublasLtMatrixTransformDescGetAttribute cublasLtMatrixTransformDescSetAttribute""",
    ),
    *unsupported(
        "create the object with its ...Create function",
        """
    cublasLtMatmulDescInit_internal cublasLtMatmulPreferenceInit_internal cublasLtMatrixLayoutInit_internal
    cublasLtMatrixTransformDescInit_internal cublasLtMatmulPreferenceGetAttribute""",
    ),
)

API = Api("cuBLASLt", "cublaslt", "libcublasLt.so.13", "cublasLt.h", 15, (*_OBJECTS, *_PRODUCTS, *_REFUSED))

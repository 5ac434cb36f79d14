"""cuBLASLt (libcublasLt.so.13): see ``api.py`` for how to read it."""

from __future__ import annotations

from jitc.interpose.spec.api import Api, Custom, Function, Local, Op, unsupported

#: Attributes that are sent, by object; others are refused (a host pointer would mean nothing on the worker's side).
#: number -> name in the header's enumeration, bytes
ATTRIBUTES: dict[str, dict[int, tuple[str, int]]] = {
    "MATMUL_DESC": {
        0: ("COMPUTE_TYPE", 4),
        1: ("SCALE_TYPE", 4),
        2: ("POINTER_MODE", 4),
        3: ("TRANSA", 4),
        4: ("TRANSB", 4),
        5: ("TRANSC", 4),
        6: ("FILL_MODE", 4),
        7: ("EPILOGUE", 4),
        8: ("BIAS_POINTER", 8),
        10: ("BIAS_BATCH_STRIDE", 8),
        11: ("EPILOGUE_AUX_POINTER", 8),
        12: ("EPILOGUE_AUX_LD", 8),
        13: ("EPILOGUE_AUX_BATCH_STRIDE", 8),
        14: ("ALPHA_VECTOR_BATCH_STRIDE", 8),
        15: ("SM_COUNT_TARGET", 4),
        17: ("A_SCALE_POINTER", 8),
        18: ("B_SCALE_POINTER", 8),
        19: ("C_SCALE_POINTER", 8),
        20: ("D_SCALE_POINTER", 8),
        21: ("AMAX_D_POINTER", 8),
        22: ("EPILOGUE_AUX_DATA_TYPE", 4),
        23: ("EPILOGUE_AUX_SCALE_POINTER", 8),
        24: ("EPILOGUE_AUX_AMAX_POINTER", 8),
        25: ("FAST_ACCUM", 1),
        26: ("BIAS_DATA_TYPE", 4),
        31: ("A_SCALE_MODE", 4),
        32: ("B_SCALE_MODE", 4),
        33: ("C_SCALE_MODE", 4),
        34: ("D_SCALE_MODE", 4),
        35: ("EPILOGUE_AUX_SCALE_MODE", 4),
        36: ("D_OUT_SCALE_POINTER", 8),
        37: ("D_OUT_SCALE_MODE", 4),
    },
    "MATRIX_LAYOUT": {
        0: ("TYPE", 4),
        1: ("ORDER", 4),
        2: ("ROWS", 8),
        3: ("COLS", 8),
        4: ("LD", 8),
        5: ("BATCH_COUNT", 4),
        6: ("STRIDED_BATCH_OFFSET", 8),
        7: ("PLANE_OFFSET", 8),
        8: ("BATCH_MODE", 4),
    },
    "MATMUL_PREF": {
        0: ("SEARCH_MODE", 4),
        1: ("MAX_WORKSPACE_BYTES", 8),
        3: ("REDUCTION_SCHEME_MASK", 4),
        5: ("MIN_ALIGNMENT_A_BYTES", 4),
        6: ("MIN_ALIGNMENT_B_BYTES", 4),
        7: ("MIN_ALIGNMENT_C_BYTES", 4),
        8: ("MIN_ALIGNMENT_D_BYTES", 4),
        9: ("MAX_WAVES_COUNT", 4),
        12: ("IMPL_MASK", 8),
    },
}

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
        note="on the software device without effect: there is one algorithm",
    ),
)

_PRODUCTS: tuple[Function, ...] = (
    Custom(
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
        ops="library_ask",
        note="answers are kept; on the software device one algorithm, without workspace",
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
        ops="matmul library_call",
        note="epilogues of the software device: none, bias, ReLU, GELU and with bias",
    ),
)

_REFUSED = (
    *unsupported(
        "choosing an algorithm by hand is not supported: leave TunableOp off, use cublasLtMatmulAlgoGetHeuristic",
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

CUBLASLT = Api("cuBLASLt", "cublaslt", "libcublasLt.so.13", "cublasLt.h", 15, (*_OBJECTS, *_PRODUCTS, *_REFUSED))

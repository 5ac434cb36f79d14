"""Ops of modules: images, kernels, variables, and the device's limits for kernels. Part of ``kernels.py``.

A module image (fat binary, cubin or PTX) is sent once per node: ``image_query`` asks by content hash, ``image_part``
sends missing parts, ``module_load`` names it. The worker keeps images in files of the node service, so that they
outlive it and other ranks find them.
"""

from __future__ import annotations

from jitc.ops.op import MODULE, Op

_IMAGE = ("hash", "bytes16", "XXH3 128 bit of the image, canonical form")

MODULES: tuple[Op, ...] = (
    Op(
        MODULE,
        1,
        "image_query",
        "Whether the node has a module image.",
        (_IMAGE, ("bytes", "u64", "its size")),
        waits=True,
        result="u32 present",
        compared=False,
    ),
    Op(
        MODULE,
        2,
        "image_part",
        "A part of a module image; it is complete when all its bytes have come.",
        (_IMAGE, ("total", "u64", "bytes of the image"), ("offset", "u64", ""), ("bytes", "u64", "payload bytes")),
        payload="bytes",
    ),
    Op(
        MODULE,
        3,
        "module_load",
        "Load a module from an image that the node has.",
        (("module", "u64", "virtual module"), _IMAGE, ("bytes", "u64", "size of the image")),
        waits=True,
        resource=True,
    ),
    Op(MODULE, 4, "module_unload", "Unload a module.", (("module", "u64", ""),), resource=True),
    Op(
        MODULE,
        5,
        "function_get",
        "Find a kernel of a module.",
        (("module", "u64", ""), ("function", "u64", "virtual function"), ("bytes", "u64", "length of the name")),
        payload="name",
        waits=True,
        result="FunctionInfo, then FunctionParameter[parameters]",
        compared=False,
        resource=True,
    ),
    Op(
        MODULE,
        6,
        "function_set",
        "Set an attribute of a kernel (CUfunction_attribute).",
        (("function", "u64", ""), ("attribute", "i32", ""), ("value", "i32", "")),
        waits=True,
        resource=True,
    ),
    Op(
        MODULE,
        7,
        "function_query",
        "Ask for the occupancy of a kernel.",
        (
            ("function", "u64", ""),
            ("shared", "u64", "dynamic shared memory per block"),
            ("kind", "u32", "OccupancyKind"),
            ("block", "u32", "threads per block"),
            ("flags", "u32", "CUoccupancy_flags"),
            ("cluster", "u32", "blocks per cluster, or 0"),
        ),
        waits=True,
        result="u64",
    ),
    Op(
        MODULE,
        8,
        "variable_get",
        "Find a device variable of a module, and tell its address, which must be the same after a rebuild.",
        (("module", "u64", ""), ("bytes", "u64", "length of the name")),
        payload="name",
        waits=True,
        result="u64 address, u64 bytes",
        resource=True,
    ),
    Op(
        MODULE,
        9,
        "tensor_map",
        "Encode a tensor map (jitc/tensor_map.h). Its bytes depend on the arguments alone.",
        (
            ("address", "u64", "of the tensor"),
            ("sizes", "bytes128", "TensorMapSizes"),
            ("boxes", "bytes64", "TensorMapBoxes"),
            ("kind", "u32", "TensorMapKind"),
            ("rank", "u32", "dimensions"),
            ("type", "i32", "CUtensorMapDataType"),
            ("interleave", "i32", "CUtensorMapInterleave"),
            ("swizzle", "i32", "CUtensorMapSwizzle"),
            ("promotion", "i32", "CUtensorMapL2promotion"),
            ("fill", "i32", "CUtensorMapFloatOOBfill"),
            ("channels", "u32", "per pixel, of an im2col map"),
            ("pixels", "u32", "per column, of an im2col map"),
            ("unused", "u32", ""),
        ),
        waits=True,
        result="bytes128",
    ),
    Op(
        MODULE,
        10,
        "limit_set",
        "Set a limit of the device for kernels (CUlimit): their stack, their heap, what they print.",
        (("limit", "i32", ""), ("unused", "u32", ""), ("value", "u64", "")),
        waits=True,
        result="u64 in force, which may be more",
        resource=True,
    ),
    Op(
        MODULE,
        11,
        "variable_alias",
        "Find a device variable of a module. Ops name it by an alias, wherever it lies (jitc/variable_alias.h).",
        (("module", "u64", ""), ("alias", "u64", "that the client chose"), ("bytes", "u64", "length of the name")),
        payload="name",
        waits=True,
        result="u64 bytes",
        resource=True,
    ),
)

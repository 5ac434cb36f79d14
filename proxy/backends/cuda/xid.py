"""The meaning of the NVIDIA driver's Xid numbers for recovery (see NVIDIA's "Xid errors").

Called by: nvml.py. There are three kinds: errors of a program (its context gets an error by itself, so nothing is
done), errors of the device (its workers are replaced), and errors after which the GPU cannot be used before a reset.
Promise: an unknown number counts as an error of the device.
"""

from __future__ import annotations

#: Errors of one context: illegal accesses, faults of a program, contexts that were killed. Killing a worker causes
#: some of them, so a reaction would replace the replacement.
APPLICATION = {
    13: "graphics engine exception",
    31: "MMU fault: illegal address",
    43: "GPU stopped processing",
    45: "preemptive clean-up of a context",
    63: "row remapping recorded",
    68: "video processor exception",
    92: "many corrected ECC errors",
    94: "contained ECC error",
    109: "context switch timeout",
}
#: Errors after which the GPU does not come back without a reset.
_LOST = {79: "GPU has fallen off the bus"}
_DEVICE = {
    48: "double bit ECC error",
    61: "internal micro-controller breakpoint",
    62: "internal micro-controller halt",
    64: "row remapping failed",
    74: "NVLink error",
    95: "uncontained ECC error",
    119: "GSP RPC timeout",
    120: "GSP error",
    140: "unrecovered ECC error",
    154: "GPU recovery action changed",
}


def is_lost(code: int) -> bool:
    return code in _LOST


def describe(code: int) -> str:
    text = APPLICATION.get(code) or _LOST.get(code) or _DEVICE.get(code)
    return f"Xid {code} ({text})" if text else f"Xid {code}"

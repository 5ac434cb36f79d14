"""Turns the API tables into ``docs/coverage.md``.

Called by ``jitc.interpose.generator``. Promise: every exported function is in it, with its policy.
"""

from __future__ import annotations

from jitc.interpose.generator.wrappers_visitor import APIS, refused, served
from jitc.interpose.spec.api import Api, Function
from jitc.interpose.spec.unserved import STATIC_RUNTIMES, UNSERVED
from jitc.ops.kernels import KERNEL_OPS
from jitc.ops.op import GRAPH

_NEEDS_KERNELS = {op.name for op in KERNEL_OPS if op.family != GRAPH}
_SOFTWARE_ONLY = {"matmul"}  # elsewhere the library's own call is made

_HEAD = """\
# Coverage

Generated from `interpose/spec` by `python -m jitc.interpose.generator`; do not edit.

Every function that `libjitc_interpose.so` exports, by what a call means to record and replay:
**Op** goes into the stream of device ops and does not wait; **Sync** waits for an answer of the
device; **Local** is answered in the process; **Custom** decides by its arguments; **Unsupported**
returns the API's own not-supported error and says once what to do instead. The columns *software* and
*cuda* name the device ops that a call can become on either kind of device (none: it is answered in the
process); *refused*: that kind refuses it like an unsupported function.

cuDNN is served on the *cuda* kind alone, where the service has the library; elsewhere `client_shim` turns it off, and
PyTorch's own kernels take its place. Its graph API is carried whole: attributes, descriptors and engines that this
list does not name included.

A program that opens one of these libraries itself and looks functions up in it (`dlopen`, `dlsym`, ctypes) gets the
same functions. What the library has beyond this list is not found then, with one line that names it.
"""


def document() -> str:
    """Returns the text of ``docs/coverage.md``."""
    return "\n".join([_HEAD, *_summary(), *_unserved(), *(line for api in APIS for line in _api(api))]) + "\n"


def _unserved() -> list[str]:
    lines = ["## Libraries that are not served", ""]
    lines += ["The functions that a program begins with are refused, with one line that names library and function,"]
    lines += ["on every device, also where a program looks them up in the library itself (`dlsym`, ctypes).", ""]
    lines += ["| library | file | met by | instead | refused at | status |", "|---|---|---|---|---|---:|"]
    for one in UNSERVED:
        names = ", ".join(f"`{name}`" for name in one.entries)
        lines.append(f"| {one.title} | `{one.library}` | {one.met} | {one.instead} | {names} | {one.status} |")
    lines += [
        "",
        "So is `cuGetExportTable`, which a CUDA runtime asks for that is linked in statically. The line names the",
    ]
    lines += [
        "file that called it, and says what helps: "
        + "; ".join(f"`{one.part}`: {one.instead}" for one in STATIC_RUNTIMES)
        + "."
    ]
    return [*lines, ""]


def _summary() -> list[str]:
    policies = ("Op", "Sync", "Local", "Custom", "Unsupported")
    lines = ["| API | replaces | " + " | ".join(policies) + " | *cuda* only |", "|---|---|" + "---:|" * 6]
    for api in APIS:
        counts = [sum(f.policy == policy for f in api.functions) for policy in policies]
        counts.append(sum(bool(f.kernels) for f in api.functions))
        lines.append(f"| {api.title} | `{api.library}` | " + " | ".join(map(str, counts)) + " |")
    return [*lines, ""]


def _row(f: Function) -> str:
    software = "*refused*" if f.kernels else ", ".join(op for op in f.ops if op not in _NEEDS_KERNELS)
    cuda = ", ".join(op for op in f.ops if op not in _SOFTWARE_ONLY)
    return f"| `{f.name}` | {f.policy} | {software} | {cuda} | {f.note} |"


def _by_advice(functions: list[tuple[str, str]]) -> list[str]:
    """Returns names, grouped by the advice that goes with them."""
    return [
        f"- {advice}: " + ", ".join(f"`{name}`" for name, its in functions if its == advice)
        for advice in sorted({advice for _, advice in functions})
    ]


def _api(api: Api) -> list[str]:
    lines = [f"## {api.title}", "", "| function | policy | software | cuda | remarks |", "|---|---|---|---|---|"]
    lines += [_row(f) for f in served(api)]
    lines += ["", f"### Refused by {api.title}", "", *_by_advice([(f.name, f.note) for f in refused(api)])]
    if needing := [(f.name, f.kernels) for f in served(api) if f.kernels]:
        lines += ["", f"### Refused by {api.title} on the software device", "", *_by_advice(needing)]
    return [*lines, ""]

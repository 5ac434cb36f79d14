"""The description of an API function: its arguments and one policy class.

The tables in ``cudart/``, ``driver/``, ``cublas/``, ``cudnn/`` and ``nccl.py`` are made of
these. Called by: the generator's visitors and the tests. Promise: plain data, checked on import.

An argument is written ``"[direction ]name: type[size]"``:

- no direction: passed by value; ``in``: pointer to what is read; ``out``: pointer to what is written;
  ``inout``: both. ``memory`` and ``bytes`` are always pointers, with the size in bytes in brackets.
- the type is one of ``TYPES``; handles and device addresses have types of their own because replay and
  validation must tell them from numbers.

The class says what the call means for record and replay: ``Op`` goes into the stream of device ops and
does not wait; ``Sync`` waits for a result; ``Local`` is answered in the process and never journaled;
``Custom`` decides by its arguments; ``Unsupported`` returns the API's own not-supported error and
reports so once.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass

from jitc.ops import table

#: type -> C++ type. Handles and addresses travel as 64-bit numbers: the ABI is that of a pointer.
TYPES: dict[str, str] = {
    # numbers
    "int": "int32_t",
    "uint": "uint32_t",
    "enum": "int32_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "size": "size_t",
    "i64": "int64_t",
    # sizes of cuBLAS, which are checked before a call is sent: not negative; not 0; not below the rows in brackets
    "count": "int32_t",
    "increment": "int32_t",
    "leading": "int32_t",
    "u64": "uint64_t",
    "float": "float",
    "double": "double",
    # values that cuBLAS takes by pointer, from the host or the device as the handle's pointer mode says; the argument
    # in brackets gives the type of a "scalar"
    "half": "uint16_t",
    "complex": "void",
    "double_complex": "void",
    "scalar": "void",
    "info": "int32_t",  # status that cuBLAS writes on the host at once
    # handles that this library hands out
    "stream": "uint64_t",
    "event": "uint64_t",
    "context": "uint64_t",
    "pool": "uint64_t",
    "kernel": "uint64_t",
    "module": "uint64_t",
    "library": "uint64_t",
    "graph": "uint64_t",
    "executable": "uint64_t",
    "comm": "uint64_t",
    "blas": "uint64_t",
    "lt": "uint64_t",
    "dnn": "uint64_t",
    "descriptor": "uint64_t",  # a descriptor of cuDNN; its kind in brackets
    "layout": "uint64_t",
    "matmul_desc": "uint64_t",
    "preference": "uint64_t",
    "device": "int32_t",
    "registration": "uint64_t",
    "reduction": "int32_t",
    "handle": "uint64_t",
    # memory
    "address": "uint64_t",
    "host": "void*",
    "string": "const char*",
    "text": "char*",
    # passed by value or filled in as a whole
    "dim3": "Dim3",
    "unique_id": "UniqueId",
    "uuid": "Uuid",
    "callback": "void*",
    "function": "void*",
    "allocation_prop": "AllocationProp",
    "memory_access": "MemoryAccess",
    "memory_location": "MemoryLocation",
    "device_prop": "void",
    "pointer_attributes": "PointerAttributes",
    "copy_parameters_3d": "CopyParameters3d",
    "func_attributes": "FuncAttributes",
    "launch_config": "void",
    "nccl_config": "void",
    "sim_info": "void",
    "algorithm": "Algorithm",
    "heuristic": "Heuristic",
    "channel": "ChannelDesc",
    "opaque": "void",
    "memory": "void",
    "bytes": "void",
}
RETURNS: dict[str, str] = {
    "status": "int32_t",
    "none": "void",
    "text": "const char*",
    "size": "size_t",
    "fatbin": "void**",
    "uint": "uint32_t",
    "channel": "ChannelDesc",
    "error": "int32_t",  # a status that is itself the result, not the outcome of the call
}

_ARGUMENT = re.compile(r"^(?:(in|out|inout) )?(\w+): (\w+)(?:\[([^\]]+)\])?$")


@dataclass(frozen=True)
class Argument:
    direction: str
    name: str
    type: str
    size: str

    @property
    def cpp(self) -> str:
        """Returns the C++ type of the parameter."""
        base = TYPES[self.type]
        if not self.direction:
            return base
        return f"const {base}*" if self.direction == "in" else f"{base}*"


def argument(text: str) -> Argument:
    found = _ARGUMENT.match(text)
    if not found or found[3] not in TYPES:
        raise ValueError(f"not an argument: {text!r}")
    out = Argument(found[1] or "", found[2], found[3], found[4] or "")
    if TYPES[out.type] == "void" and not out.direction:
        raise ValueError(f"needs a direction: {text!r}")
    return out


@dataclass(frozen=True, init=False)
class Function:
    """One API function. ``ops``: the device ops it can become; ``like``: a function with the same meaning and the same
    ABI that serves it; ``note``: what differs from the real API; ``kernels``: only a device that runs kernels serves
    the function; elsewhere it is refused with this advice."""

    name: str
    args: tuple[Argument, ...]
    ops: tuple[str, ...]
    returns: str
    like: str
    note: str
    kernels: str

    def __init__(
        self,
        name: str,
        *args: str,
        ops: str = "",
        returns: str = "status",
        like: str = "",
        note: str = "",
        kernels: str = "",
    ) -> None:
        lowered = tuple(ops.split())
        unknown = [op for op in lowered if op not in table.BY_NAME]
        if unknown or returns not in RETURNS:
            raise ValueError(f"{name}: unknown op or result {unknown} {returns}")
        for key, value in {
            "name": name,
            "args": tuple(map(argument, args)),
            "ops": lowered,
            "returns": returns,
            "like": like,
            "note": note,
            "kernels": kernels,
        }.items():
            object.__setattr__(self, key, value)

    def alias(self, name: str) -> Function:
        """Returns the same function under another name of the same API."""
        out = copy(self)
        object.__setattr__(out, "name", name)
        if self.policy != "Unsupported":
            object.__setattr__(out, "like", self.served_by)
        return out

    @property
    def policy(self) -> str:
        return type(self).__name__

    @property
    def served_by(self) -> str:
        """Returns the name of the hand-written function (namespace jitc::api) behind the wrapper."""
        return self.like or self.name


class Op(Function):
    """An asynchronous function: it becomes device ops, is journaled and replayed."""


class Sync(Function):
    """A function that waits for a result of the device."""


class Local(Function):
    """A function that is answered in the process; never journaled."""


class Custom(Function):
    """A function that is Op, Sync or Local, by its arguments."""


class Unsupported(Function):
    """A refused function: the API's own not-supported error, with the name and ``note`` (what to do) reported once."""


def unsupported(advice: str, names: str) -> tuple[Function, ...]:
    """Returns one topic of refused functions. Their arguments are never looked at, so they are not described."""
    return tuple(Unsupported(name, note=advice) for name in names.split())


@dataclass(frozen=True)
class Api:
    """One library's API. ``title`` names it, ``library`` is what it replaces, ``not_supported`` its error value,
    ``header`` the file with its real declarations."""

    title: str
    key: str
    library: str
    header: str
    not_supported: int
    functions: tuple[Function, ...]

    def __post_init__(self) -> None:
        names = [f.name for f in self.functions]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{self.title}: listed twice: {twice}")

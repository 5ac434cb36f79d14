"""Whatever a program calls of cuDNN, in whatever order: a status of cuDNN's, and ops that the decoder takes.

Arguments are made by the spec's types, handles and descriptors are mostly those that were made before, and a worker
answers what it likes. A fixed number of generated programs; the number of the failing one is printed by hypothesis.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from ctypes import c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64
from random import Random
from typing import Any

from api_rig import Cuda
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interpose_call_ops import plan_of, sent, tensors_of
from interpose_dnn import PACK, VERSION, Dnn, i32, integers

from jitc.interpose.spec.api import Argument, Function
from jitc.interpose.spec.cudnn import graph
from jitc.interpose.spec.cudnn.functions import CUDNN

FIXED = settings(
    max_examples=150, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
CALLS = 120
SERVED = sorted((f for f in CUDNN.functions if f.returns == "status" and f.kernels), key=lambda f: f.name)
MAKERS = [f for f in SERVED if f.name.startswith(("cudnnCreate", "cudnnBackendCreate"))]
NUMBERS: dict[str, Any] = {
    "int": c_int32, "enum": c_int32, "uint": c_uint32, "size": c_size_t, "i64": c_int64, "u64": c_uint64,
    "float": c_float, "double": c_double,
}  # fmt: skip
#: Room for any result that is asked for below, and for any array.
ROOM = 4096
SMALL = [*range(-1, 6), 1, 2, 2, 3]
CHOICES = {
    "attribute": [201, 202, 300, 401, 751, 800, *graph.ATTRIBUTES.values()],
    "type": [*graph.ATTRIBUTE_TYPES, 3, 15, 1, 14, 30, 31],
    "kind": [3, 4, *graph.DESCRIPTORS.values()],
}
POINTERS = graph.ATTRIBUTES["VARIANT_PACK_DATA_POINTERS"]


class Machine:
    """What a generated program holds: handles by kind, and memory for what is read and written."""

    def __init__(self, dnn: Dnn, chance: Random) -> None:
        self.dnn, self.chance = dnn, chance
        self.memory = dnn.gpu.malloc(64)
        self.kept: list[Any] = []
        plan = dnn.plan(dnn.graph_tensor(1, 1, by_value=True), dnn.graph_tensor(2, 4))
        nodes = [plan.value, dnn.pack({2: self.memory}).value, dnn.node(PACK, {1000: integers(1)}).value]
        self.handles = {"none": [0, 3], "dnn": [dnn.handle.value], "backend": nodes}
        self.attribute = 0

    def buffer(self, content: bytes = b"") -> Any:
        self.kept.append(ctypes.create_string_buffer(content, ROOM))
        return self.kept[-1]

    def words(self, values: list[int], layout: Any) -> Any:
        return self.buffer(bytes((layout * len(values))(*values)))

    def handle(self, kind: str) -> int:
        """Mostly of that kind, and rather one of the first."""
        usual = kind in self.handles and self.chance.random() < 0.95
        among = self.handles[kind if usual else self.chance.choice(list(self.handles))]
        return among[min(self.chance.randrange(len(among)) for _ in range(2))]

    def address(self) -> int:
        """Of the host, of a device, or nothing."""
        return self.chance.choice([0, self.memory, ctypes.addressof(self.buffer(b"value"))])

    def elements(self) -> Any:
        """Of an attribute, at most as many as SMALL counts. What may be read through is never a wild pointer."""
        of = self.chance.choice(["", "backend", "backend", "dnn"])
        one = (lambda: self.handle(of)) if of else (lambda: self.chance.choice(SMALL))
        return self.words([(self.address if self.attribute == POINTERS else one)() for _ in range(5)], c_int64)

    def argument(self, argument: Argument) -> Any:
        if argument.direction and self.chance.random() < 0.03:
            return None
        if argument.type == "opaque":
            return self.elements()
        if argument.direction == "in":
            return self.words(self.chance.choices(SMALL[1:], k=8), c_int32)
        if argument.direction:
            return self.buffer()
        if argument.type in NUMBERS:
            return NUMBERS[argument.type](self.number(argument))
        kind = argument.size or ("backend" if argument.type == "descriptor" else argument.type)
        return c_uint64(self.address() if argument.type == "address" else self.handle(kind))

    def number(self, argument: Argument) -> int:
        value: int = self.chance.choice(CHOICES.get(argument.name, SMALL))
        self.attribute = value if argument.name == "attribute" else self.attribute
        return max(value, 0) if argument.type in ("uint", "size", "u64") else value

    def call(self, function: Function) -> int:
        arguments = [self.argument(one) for one in function.args]
        status = int(self.dnn.gpu.library[function.name](*arguments))
        made = function.args[-1]
        if status == 0 and function in MAKERS:
            of = made.size if made.type == "descriptor" else "dnn"
            self.handles.setdefault(of, []).append(int.from_bytes(arguments[-1].raw[:8], "little"))
        return status

    def answer(self) -> None:
        """Numbers are small, as a tensor's sizes may come of them, which say how long arrays are."""
        words = self.chance.choices(SMALL, k=self.chance.randrange(80))
        self.dnn.tell(i32(*words), self.chance.choice([0, 0, 0, 2000, 3000, -7]))


def check(gpu: Cuda) -> Counter[str]:
    """Whatever was submitted can be read."""
    seen: Counter[str] = Counter()
    for op in gpu.take():
        seen[op.name] += 1
        if op.name in ("dnn_ask", "dnn_try", "dnn_call"):
            sent(op)
        elif op.name.startswith("dnn_execute"):
            tensors_of(op)
        elif op.name == "image_part":
            plan_of(op)
    return seen


def run(gpu: Cuda, number: int) -> Counter[tuple[str, int]]:
    """Function, status -> how often."""
    gpu.reset()
    chance, dnn = Random(number), Dnn(gpu)
    machine = Machine(dnn, chance)
    seen: Counter[tuple[str, int]] = Counter()
    backend = list(graph.GRAPH)
    for function in [*MAKERS, *(chance.choice(backend if chance.random() < 0.4 else SERVED) for _ in range(CALLS))]:
        if chance.random() < 0.1:
            machine.answer()
        seen[function.name, machine.call(function)] += 1
    return seen


@FIXED
@given(number=st.integers(0, 2**32 - 1))
def test_any_program_gets_statuses(fresh: Cuda, number: int) -> None:
    statuses = {status for _, status in run(fresh, number)}
    assert statuses <= {*graph.STATUSES, -7}
    check(fresh)


def test_the_generated_programs_get_somewhere(fresh: Cuda) -> None:
    """Else the test above would show little; and the library is none the worse for them."""
    seen: Counter[tuple[str, int]] = Counter()
    ops: Counter[str] = Counter()
    for number in range(200):
        seen += run(fresh, number)
        ops += check(fresh)
    assert {function.name for function in SERVED} == {name for name, status in seen if status == 0}
    assert {status for _, status in seen} >= {0, 2000, 2002, 2004, 2010, 3000}
    assert ops.keys() >= {"dnn_ask", "dnn_try", "dnn_call", "dnn_execute_try", "dnn_execute", "dnn_plan_drop"}
    fresh.cudnnGetVersion.restype = c_size_t
    assert fresh.cudnnGetVersion() == VERSION

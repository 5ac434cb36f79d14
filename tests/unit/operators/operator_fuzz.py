"""The fuzz of operators as a program: calls the operators library with arguments of operator_arguments.py.

    operator_fuzz.py --seed 1 --each 5                       every operator that is redirected, five times
    operator_fuzz.py --seed 1 --only aten::addmm.out --turn 3   one of these calls again, in this process
    operator_fuzz.py --right                                 the calls of operator_samples.json as they are

Each query (and, where it was answered, the call that a program would then make) runs in a child process; one that ends
the child is run once more in a child of its own. Prints one JSON object: how many were answered, refused, malformed and
triggered an assert, and what went wrong: {"name", "turn", "how", "alone"}. The same seed gives the same arguments.
With --right it prints instead what was not answered: {"name": [errors]}.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import signal
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import operator_wire as wire
import torch
from operator_arguments import Arguments, Samples
from operator_values import DTYPES, PLACE_BYTES, Places, extent, numbers, pack

STATUSES = 4  # of a query, see Fuzz.run
PATIENCE = float(os.environ.get("JITC_TEST_PATIENCE") or 1)  # toolkit/waiting.py, which is not on this program's path
PROCESSOR_SECONDS = 10 * PATIENCE  # of one query and its call: they work on some hundred numbers
WALL_SECONDS = 120 * PATIENCE  # whoever waits for something uses no processor
MEMORY_LIMIT = 64 << 20  # of the device
MOST_MEMORY = MEMORY_LIMIT + (192 << 20)  # of the process, above what it had before
ADDRESS_SPACE = 3 << 30  # above what the process has: so that a query without limits does not harm the machine
#: Not redirected: PyTorch's own CUDA code serves them (client_shim/native/install.cpp).
NATIVE = (
    "empty", "empty_strided", "as_strided", "view", "_reshape_alias", "unfold", "view_as_real", "view_as_complex",
    "set_", "resize_", "record_stream", "is_set_to", "_local_scalar_dense", "_pin_memory", "_efficientzerotensor",
    "_nested_view_from_buffer", "_use_cudnn_ctc_loss", "_use_miopen_ctc_loss", "_fused_sdp_choice", "_foreach_copy_",
)  # fmt: skip


def schemas() -> dict[str, Any]:
    """Of all operators that client_shim redirects."""
    redirected = set(torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"))
    redirected |= {"aten::convolution", "aten::_convolution"}
    known = {}
    for one in torch._C._jit_get_all_schemas():
        name = one.name + (f".{one.overload_name}" if one.overload_name else "")
        plain = one.name.removeprefix("aten::")
        if name in redirected and plain != one.name and plain not in NATIVE:
            known[name] = one
    return dict(sorted(known.items()))


@dataclass
class Turn:
    """The turn's call of an operator."""

    name: str
    turn: int

    def __str__(self) -> str:
        return f"{self.name} {self.turn}"


class Fuzz:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.schemas = schemas()
        self.samples = Samples(self.schemas)
        self.places = Places()
        self.library = wire.Library(MEMORY_LIMIT)
        self.library.inside = self.places.inside
        self.library.table.set_threads(1)

    def run(self, turn: Turn) -> int:
        """The status of the query: 0 answered, 1 refused, 2 malformed, 3 a GPU's kernel would find it."""
        random = Random(f"{self.seed} {turn}")
        self.places.rewind()
        arguments = [pack(one, self.places, random.randrange(997)) for one in self._made(turn.name, random)]
        status, reply = self.library.query(wire.call(turn.name, arguments, None))
        if status == 0:
            outputs = list(self._outputs(reply, random))
            if random.random() < 0.1:
                random.shuffle(outputs)
            self.library.call(wire.call(turn.name, arguments, outputs))
        return status

    def refused(self) -> dict[str, list[str]]:
        """Errors of the right calls that were recorded."""
        found: dict[str, list[str]] = {}
        for name in self.schemas:
            for sample in self.samples.right(name):
                self.places.rewind()
                query = wire.call(name, [pack(one, self.places) for one in sample], None)
                status, text = self.library.query(query)
                if status:
                    found.setdefault(name, []).append(text.decode(errors="replace"))
        return found

    def arguments(self, turn: Turn) -> list[Any]:
        return self._made(turn.name, Random(f"{self.seed} {turn}"))

    def _made(self, name: str, random: Random) -> list[Any]:
        schema = self.schemas[name]
        changed = self.samples.of(name, random) if random.random() < 0.8 else None
        return changed or Arguments(random, random.choice((0.6, 0.85, 0.97, 1.0))).make(schema)

    def _outputs(self, reply: bytes, random: Random) -> Iterator[bytes]:
        """Memory for the results that the reply describes."""
        reader = Reply(reply)
        _version, resized = reader.take("B"), reader.take("H")
        for _ in range(resized):
            reader.take("H")
            reader.form()
        for _ in range(reader.take("H")):
            yield from self._result(reader, random)

    def _result(self, reader: Reply, random: Random) -> Iterator[bytes]:
        tag = reader.take("B")
        if tag == 13:
            for _ in range(reader.take("I")):
                yield from self._result(reader, random)
        elif tag in (4, 3):
            reader.skip({4: 0, 3: 2}[tag])
            yield b"\0"
        elif tag == 19:
            reader.skip(10)
            reader.form()
            yield b"\0"
        elif tag == 18:
            dtype, sizes, strides = reader.form()
            size = extent(sizes, strides) * DTYPES.get(dtype, (0, None))[0]
            if dtype not in DTYPES or size > PLACE_BYTES or random.random() < 0.05:
                yield b"\0"
                return
            address = self.places.put(bytes(size))
            yield struct.pack("<BbBBQ", 1, dtype, len(sizes), 0, address) + numbers(sizes) + numbers(strides)
        else:
            reader.skip({0: 0, 5: 1, 6: 8, 7: 8, 8: 16}[tag])


class Reply:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, what: str) -> int:
        (value,) = struct.unpack_from("<" + what, self._data, self._at)
        self._at += struct.calcsize("<" + what)
        return int(value)

    def skip(self, count: int) -> None:
        self._at += count

    def form(self) -> tuple[int, list[int], list[int]]:
        dtype, dimensions, _flags = self.take("b"), self.take("B"), self.take("B")
        return dtype, [self.take("q") for _ in range(dimensions)], [self.take("q") for _ in range(dimensions)]


class Children:
    """Runs turns in children, as many as are needed."""

    def __init__(self, fuzz: Fuzz) -> None:
        self._fuzz = fuzz
        self._operators = list(fuzz.schemas)
        self._shared = mmap.mmap(
            -1, 8 + 8 * STATUSES * len(self._operators)
        )  # the turn that runs, turns by operator and status

    def run(self, turns: list[Turn]) -> dict[str, Any]:
        wrong, at = [], 0
        while at < len(turns):
            how = self._child(turns, at)
            if not how:
                break
            at = self._running()
            wrong.append({"name": turns[at].name, "turn": turns[at].turn, "how": how})
            wrong[-1]["alone"] = self._child(turns[at : at + 1], 0)
            at += 1
        counts = {
            name: struct.unpack_from(f"<{STATUSES}Q", self._shared, self._place(name)) for name in self._operators
        }
        return {"answers": counts, "wrong": wrong}

    def _place(self, name: str) -> int:
        return 8 + 8 * STATUSES * self._operators.index(name)

    def _running(self) -> int:
        return int(struct.unpack_from("<Q", self._shared, 0)[0])

    def _child(self, turns: list[Turn], start: int) -> str:
        """How it ended; "" when all is well."""
        child = os.fork()
        if not child:
            self._work(turns, start)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return {signal.SIGPROF: "hang", signal.SIGALRM: "waits"}.get(number, signal.Signals(number).name)
        return {0: "", 3: "memory"}.get(os.WEXITSTATUS(status), f"exit {os.WEXITSTATUS(status)}")

    def _work(self, turns: list[Turn], start: int) -> None:
        limit_address_space()
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + MOST_MEMORY
        for i in range(start, len(turns)):
            struct.pack_into("<Q", self._shared, 0, i)
            signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
            signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
            status = self._fuzz.run(turns[i])
            place = self._place(turns[i].name) + 8 * status
            struct.pack_into("<Q", self._shared, place, struct.unpack_from("<Q", self._shared, place)[0] + 1)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > most:
                os._exit(3)
        os._exit(0)


def limit_address_space() -> None:
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, used + ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--turn", type=int)
    parser.add_argument("--right", action="store_true")
    given = parser.parse_args()
    fuzz = Fuzz(given.seed)
    if given.turn is not None:
        limit_address_space()
        turn = Turn(given.only[0], given.turn)
        print(fuzz.arguments(turn), flush=True)
        print(fuzz.run(turn))
        return
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries of linear algebra print
    names = given.only or list(fuzz.schemas)
    turns = [Turn(name, turn) for name in names for turn in range(given.each)]
    json.dump(fuzz.refused() if given.right else Children(fuzz).run(turns), answer)


if __name__ == "__main__":
    main()

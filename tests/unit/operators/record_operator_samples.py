"""Writes operator_samples.json: calls of operators that are right, for the fuzz to begin with.

    record_operator_samples.py FILE

FILE: queries of PyTorch's own samples, from JITC_TEST_RECORD=FILE tests/operators/operator_coverage.py --stand-in (ten
minutes); those of operator_programs.py are added. The stand-in of the device (native/loop.cpp) writes down the queries
that it answered. Of each operator some are kept that differ in what their arguments are.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from operator_values import DTYPES, INTEGERS, PLACE_BYTES, Items, Same, Tensor, Word, contiguous, to_json

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).with_name("operator_programs.py")
SAMPLES = Path(__file__).with_name("operator_samples.json")
KEPT, MOST_CHARACTERS, MOST_VALUES = 3, 700, 40
Memory = dict[int, bytes]


class Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, what: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + what, self._data, self._at)
        self._at += struct.calcsize("<" + what)
        return values

    def one(self, what: str) -> Any:
        return self.take(what)[0]

    def bytes(self, count: int) -> bytes:
        return bytes(self.one(f"{count}s"))

    def more(self) -> bool:
        return self._at < len(self._data)


def recorded(path: Path) -> Iterator[tuple[bytes, Memory]]:
    reader = Reader(path.read_bytes())
    while reader.more():
        query = reader.bytes(reader.one("I"))
        memory = {}
        for _ in range(reader.one("I")):
            address = reader.one("Q")
            memory[address] = reader.bytes(reader.one("I"))
        yield query, memory


class Call:
    """A query as values; not kept when its tensors are larger than the fuzz's places."""

    def __init__(self, query: bytes, memory: Memory) -> None:
        self._reader, self._memory = Reader(query), memory
        *_, name_size, arguments, _seed, _offset = self._reader.take("BBbBHHQQ")
        self.name = self._reader.bytes(name_size).decode()
        self.kept = True
        self.arguments = [self._value() for _ in range(arguments)]

    def _value(self) -> Any:
        tag = self._reader.one("B")
        if tag in (1, 2):
            return self._tensor(tag == 2)
        if tag == 9:
            return self._reader.bytes(self._reader.one("I")).decode()
        if tag in (10, 11, 12):
            count = self._reader.one("I")
            return Items("IRB"[tag - 10], list(self._reader.take(f"{count}{'qd?'[tag - 10]}")))
        if tag in (13, 14, 15):
            return Items("TOS"[tag - 13], [self._value() for _ in range(self._reader.one("I"))])
        return self._single(tag)

    def _single(self, tag: int) -> Any:
        if tag == 8:
            return complex(*self._reader.take("dd"))
        words = {4: "undefined", 16: "device", 17: "generator"}
        if tag in words:
            return Word(words[tag])
        if tag == 3:
            return Same(self._reader.one("H"))
        return self._reader.one({5: "?", 6: "q", 7: "d"}[tag]) if tag else None

    def _tensor(self, inline: bool) -> Tensor:
        dtype, dimensions, flags = self._reader.take("bBB")
        place = self._reader.one("Q")
        sizes = list(self._reader.take(f"{dimensions}q"))
        strides = contiguous(sizes) if inline else list(self._reader.take(f"{dimensions}q"))
        content = self._reader.bytes(place) if inline else self._memory.get(place, b"")
        made = Tensor(dtype, sizes, strides, "near", inline, flags)
        if dtype not in DTYPES or made.bytes > PLACE_BYTES // 2:
            self.kept = False
            return made
        made.content = described(content, made)
        return made


def described(content: bytes, tensor: Tensor) -> str | list[int]:
    item, dtype = DTYPES[tensor.dtype]
    count = len(content) // item
    if not count or dtype.is_complex:
        return "near"
    values = torch.frombuffer(bytearray(content[: count * item]), dtype=dtype)
    if tensor.dtype in INTEGERS:
        return values[:MOST_VALUES].tolist() if count * item == tensor.bytes or count > MOST_VALUES else "near"
    inside = dtype.is_floating_point and bool(((values >= 0) & (values <= 1)).all())
    return "unit" if inside else "near"


def shape_of(value: Any) -> Any:
    """What makes two samples of an operator different."""
    if isinstance(value, Tensor):
        return "tensor", value.dtype, len(value.sizes), 0 in value.sizes
    if isinstance(value, Items):
        return value.kind, len(value.values), *map(shape_of, value.values[:1])
    return str(value) if isinstance(value, (bool, str, Word)) else type(value).__name__


def record_programs(path: Path) -> None:
    env = {
        **os.environ, "LD_PRELOAD": str(ROOT / "build" / "lib" / "libjitc_loop.so"), "JITC_TEST_RECORD": str(path),
        "JITC_TEST_OPERATORS": str(ROOT / "proxy" / "lib" / "libjitc_operators.so"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    subprocess.run([sys.executable, str(PROGRAMS)], env=env, check=True)


def main() -> None:
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) / "programs"
        record_programs(programs)
        queries = [*recorded(programs), *recorded(Path(sys.argv[1]))]
    for query, memory in queries:
        call = Call(query, memory)
        known = found.setdefault(call.name, {})
        shape = str([shape_of(one) for one in call.arguments])
        made = [to_json(one) for one in call.arguments]
        if call.kept and shape not in known and len(json.dumps(made)) <= MOST_CHARACTERS:
            known[shape] = made
    lines = []
    for name, known in sorted(found.items()):
        samples = list(known.values())
        # From the first to the last: PyTorch's samples go from the plain to the special.
        chosen = [samples[i * (len(samples) - 1) // max(KEPT - 1, 1)] for i in range(min(KEPT, len(samples)))]
        unlike = [one for i, one in enumerate(chosen) if one not in chosen[:i]]
        lines += (
            [f"{json.dumps(name)}: [\n  " + ",\n  ".join(json.dumps(one) for one in unlike) + "\n]"] if unlike else []
        )
    SAMPLES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} operators")


if __name__ == "__main__":
    main()

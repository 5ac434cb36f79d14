"""docs/limits.md: its numbers are the sources', its tests are there, and no table that can be full is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from toolkit.tree import ROOT, tracked

PAGE = ROOT / "docs" / "limits.md"
LIMITS = "protos/include/jitc/limits.h"
NATIVE = ROOT / "proxy" / "native"
#: Names of constants that say how much or how many there may be.
TABLE = re.compile(
    r"\b(k(?:Most|Max(?=\w)|Remembered|Places|Tables|Capacity|Queue|Resting|Largest|Keep|Limit)\w*|k\w+Limit"
    r"|_?(?:[A-Z_]+_)?(?:MOST|MAX|MAXIMUM|KEPT|REMEMBERED|TOLD|SLOTS|LIMITS?|CAPACITY|LARGEST|DEPTH)(?:_[A-Z_]+)?)\b"
)
CACHE = "what it holds is made again; full costs time alone"
PARTS = "more are done in several parts"
FORM = "of a call's or an op's form: what is larger is refused as malformed, or with the library's error"
FLOW = "what is ahead waits"
KEPT_FREE = "memory that is kept for later ops: more, or larger pieces, are given back"
BOUND = "of an option, checked at start: test_wrong_values.py"
#: Of these no program notices that they are full: file, constant, why.
SHOWN = "characters of a foreign text that are shown"
INSIDE = {
    "proxy/cluster/entries.py _TEXT_MOST": "characters of a reason; the rest is left out",
    "proxy/cluster/entries.py _EPOCH_MOST": "what the messages have room for; an entry with more is none",
    "proxy/cluster/nodes.py _TEXT_MOST": "characters of what a node says of itself; an entry with more is none",
    "client_shim/native/boundary.cpp kMostDevices": "as many as a program sees at most",
    "client_shim/native/encoder.cpp kMostInlined": "larger ones are copied to the device",
    "client_shim/native/redirect.cpp kMostSignatures": CACHE,
    "interpose/api/call/questions.cpp kMost": CACHE,
    "interpose/session/job/launcher.cpp kMostAncestors": "a job's launcher is then unknown: only names may be alike",
    "interpose/session/job/launcher.cpp kMostEnvironment": "the same",
    "interpose/api/common/handles.h kResting": "slots that wait before they are used again: part of kGenerations' row",
    "interpose/api/common/visible_devices.h kMaxDevices": "as many as a service may have: GPUS_MOST",
    "interpose/api/cublaslt/lt_call.cpp kMostAlgorithms": FORM,
    "interpose/api/cudnn/dnn_call.cpp kMost": CACHE,
    "interpose/api/cudnn/dnn_call.h kMostNumbers": FORM,
    "interpose/api/cudnn/dnn_descriptors.cpp kMostDimensions": FORM,
    "interpose/api/cudnn/dnn_graph.cpp kMostAnswer": FORM,
    "interpose/api/cudnn/dnn_graph.cpp kMostElements": FORM,
    "interpose/api/host/staging_ring.cpp kMostSlots": FLOW,
    "interpose/api/kernel/driver_launch.cpp kMostPairs": FORM,
    "interpose/api/kernel/function.cpp kMaxThreads": "an answer: what such a device says of itself",
    "interpose/api/module/kernels.cpp kMostParameterBytes": FORM,
    "interpose/api/kernel/launch.h kMost": FORM,
    "interpose/api/kernel/occupancy.cpp kMost": CACHE,
    "interpose/api/kernel/tensor_map.cpp kMost": CACHE,
    "interpose/api/address/small_blocks.h kLargest": "larger pieces have memory of their own",
    "interpose/session/client/send_queue.cpp kKeepFree": KEPT_FREE,
    "interpose/session/client/send_queue.cpp kLargestFree": KEPT_FREE,
    "interpose/session/service/node.cpp kGpuLimit": "as many as a service may have: GPUS_MOST",
    "interpose/spec/cudart/kernels.py _LIMITS": "a text",
    "protos/include/jitc/operator_call.h kMostDimensions": FORM,
    "protos/include/jitc/operator_call.h kMostItems": FORM,
    "protos/ops/options/table.py MEMORY_MOST": BOUND,
    "protos/ops/options/table.py PINNED_MOST": BOUND,
    "protos/transport/common/sending.h kCapacity": FLOW,
    "protos/transport/common/socket.cpp kQueue": "of a socket: who connects then waits",
    "protos/transport/server/server.h kMost": "more than there are sessions and strangers",
    "proxy/bridge/outgoing.py REASONS_MOST": "reasons that are remembered as said: may be said more often",
    "proxy/cluster/ranks/documents.py TEXT_MOST": SHOWN,
    "proxy/cluster/ranks/home/calls.py KEPT": "a call that is asked for again is then made again: it may be",
    "proxy/cluster/ranks/home/calls.py KEPT_BYTES": "the same",
    "proxy/cluster/ranks/home/calls.py SECONDS_MOST": "a time",
    "proxy/cluster/ranks/home/reports.py DOCUMENTS_MOST": PARTS,
    "proxy/cluster/ranks/leader/session.py NAME_MOST": SHOWN,
    "proxy/cluster/ranks/leader/table.py REMEMBERED": "an old document of an older one is taken in: a newer follows",
    "proxy/cluster/ranks/leader/validations.py KEPT": "the question is then about another validation",
    "proxy/cluster/ranks/methods.py CALLS_MOST": FLOW,
    "proxy/commands/lifecycle/activation.py _SOCKETS_MOST": "of systemd's: a unit of ours has one",
    "proxy/commands/doctor/check.py _MOST": SHOWN,
    "proxy/commands/doctor/elf.py _PATH_MOST": "of a loader: longer ones are none",
    "proxy/commands/doctor/program.py _NAME_MOST": SHOWN,
    "proxy/commands/questions/command.py WATCH_MOST": "seconds from one picture to the next",
    "proxy/common/config.py LARGE_SLOTS": "of addresses that can be reserved: in that row",
    "proxy/keeper/admission.py LARGEST": "the largest number of a user, as the kernel has it",
    "proxy/keeper/claim/folders.py _LINKS_MOST": "links of a path, as the kernel counts them",
    "proxy/native/device/common/mirror/frames.h kLargest": PARTS,
    "proxy/native/device/common/shared_segment.h kMostRanks": "the service allows fewer",
    "proxy/native/device/cuda/blas/lt.cpp kMostKept": CACHE,
    "proxy/native/device/cuda/blas/old_calls.cpp kMostAlgorithms": FORM,
    "proxy/native/device/cuda/call/arguments.cpp kMostResult": FORM,
    "proxy/native/device/cuda/call/arguments.h kMostScalars": FORM,
    "proxy/native/device/cuda/call/arguments.h kMostSlots": FORM,
    "proxy/native/device/cuda/collective/communicators.cpp kMostRanks": "the service allows fewer",
    "proxy/native/device/cuda/dnn/dnn.cpp kMostDimensions": FORM,
    "proxy/native/device/cuda/dnn/dnn_objects.cpp kMostAnswer": FORM,
    "proxy/native/device/cuda/dnn/dnn_objects.cpp kMostElements": FORM,
    "proxy/native/device/cuda/dnn/dnn_objects.cpp kMostFilled": FORM,
    "proxy/native/device/cuda/dnn/dnn_objects.cpp kMostKept": CACHE,
    "proxy/native/device/cuda/hash/hasher.h kMostRanges": PARTS,
    "proxy/native/device/cuda/memory/pinned.h kLargest": PARTS,
    "proxy/native/device/cuda/module/modules.cpp kMostParameters": FORM,
    "proxy/native/device/software/blas/blas.cpp kLimit": FORM,
    "proxy/native/device/software/collective/communicators.cpp kMostRanks": "the service allows fewer",
    "proxy/native/device/software/segment/segment.cpp kLargest": PARTS,
    "proxy/native/device/software/memory/memory.cpp kMostAside": "the oldest is read from its copy instead",
    "proxy/native/device/software/steady/steady_hashes.cpp kMostBlocks": "others are hashed at each look",
    "proxy/native/executor/boundary/snapshot.h kRemembered": "what is kept for later boundaries: test_copies_limit.py",
    "proxy/native/executor/journal/journal.cpp kMostKept": "memory that is kept for later minibatches",
    "proxy/native/executor/journal/wire.h kMaximumBatch": "the transport takes no larger message: kMessageLimit",
    "proxy/native/executor/results/completion_queue.h kMaximumPayload": "of a result: no op has a larger one; a fault",
    "proxy/native/executor/session/intake.cpp kMostBytesAhead": FLOW,
    "proxy/native/executor/session/intake.cpp kMostOpsAhead": FLOW,
    "proxy/native/operators/checks/checks_windows.cpp kMost": FORM,
    "proxy/native/operators/composed/forms.cpp kMostTransformed": FORM,
    "proxy/node/joins/join_watch.py MOST_SECONDS": "a time",
    "proxy/protection/determinism/tolerance.py MOST": "a bound of numbers",
}


@dataclass(frozen=True)
class Row:
    what: str
    limit: str
    beyond: str
    constant: str
    test: str

    def constants(self) -> Iterator[tuple[Path, str]]:
        for folder, name in re.findall(r"`([\w/.]+)` `(\w+)`", self.constant):
            path = ROOT / folder
            yield (path if path.exists() else NATIVE / folder), name

    def tests(self) -> list[tuple[str, str]]:
        return re.findall(r"`(\w+\.(?:py|cpp))` `(\w+)`", self.test)


def rows() -> list[Row]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert {len(one) for one in cells} == {5}
    return [Row(*one) for one in cells if one[0] != "what" and not one[0].startswith("---")]


def value(path: Path, name: str) -> int | None:
    """None: an expression of other names."""
    text = path.read_text()
    if path.suffix == ".py":
        found = re.search(rf"^([A-Z_, ]*\b{name}\b[A-Z_, ]*)(?:: \w+)? = ([^#\n]+)", text, re.MULTILINE)
        assert found, f"{path} has no {name}"
        names = [one.strip() for one in found[1].split(",")]
        expression = found[2].split(",")[names.index(name)] if len(names) > 1 else found[2]
    else:
        found = re.search(rf"\b{name} = ([^,;>]+(?:<<[^,;>]+)?)", text)
        assert found, f"{path} has no {name}"
        expression = re.sub(r"(?:uint64_t|size_t)\{(\w+)\}", r"\1", found[1])
    expression = re.sub(r"(?<=\d)(?:[uU][lL]*|')|(?<=\d)[lL]+", "", expression).strip()
    return int(eval(expression)) if re.fullmatch(r"[\d\s<>*+()_-]+", expression) else None


def written(number: int) -> set[str]:
    """The ways in which a page may have it."""
    shifts = ((10, "KiB"), (20, "MiB"), (30, "GiB"))
    units = {f"{number >> shift} {unit}" for shift, unit in shifts if number % (1 << shift) == 0}
    return {f"{number:,}", *units}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.what)
def test_row(row: Row) -> None:
    assert row.what and row.limit and row.beyond
    for path, name in row.constants():
        number = value(path, name)
        assert number is None or any(
            re.search(rf"(?<![\d,]){one}(?![\d,]*\d)", row.limit) for one in written(number)
        ), f"{path} {name} is {number}, the page says {row.limit}"
    files = {one.name: one for one in tracked("tests/*.py", "tests/*.cpp")}
    for file, case in row.tests():
        assert re.search(rf"\b{case}\b", files[file].read_text()), f"{file} has no {case}"
    assert row.tests()


def test_all_of_the_header_are_there() -> None:
    there = {name for row in rows() for path, name in row.constants() if path == ROOT / LIMITS}
    assert there == set(re.findall(r"constexpr \w+ (k\w+) =", (ROOT / LIMITS).read_text()))


def test_all_tables_are_there() -> None:
    """Whose names say that they can be full."""
    listed = {f"{path.relative_to(ROOT)} {name}" for row in rows() for path, name in row.constants()}
    found = set[str]()
    for path in tracked(
        *(f"{top}/*.{end}" for top in ("client_shim", "interpose", "protos", "proxy") for end in ("py", "h", "cpp"))
    ):
        if path.name.startswith("generated_"):
            continue
        defined = r"^([A-Z_, ]+)(?:: \w+)? = " if path.suffix == ".py" else r"\bconstexpr ([^;(]*=)"
        for one in re.findall(defined, path.read_text(), re.MULTILINE):
            found |= {f"{path.relative_to(ROOT)} {name}" for name in TABLE.findall(one)}
    assert found - listed - set(INSIDE) == set(), "neither in docs/limits.md nor in INSIDE"
    assert set(INSIDE) - found == set(), "no longer there: off the list"

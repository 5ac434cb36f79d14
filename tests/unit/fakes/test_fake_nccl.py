"""The fake NCCL: joining, every collective, messages, splits, refusals, abort; in one process and in two."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_driver import Driver
from fake_nccl import (
    AVG,
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    IN_PROGRESS,
    INT64,
    INTERNAL_ERROR,
    INVALID_ARGUMENT,
    INVALID_USAGE,
    MAX,
    MIN,
    PROD,
    SUCCESS,
    SUM,
    SYSTEM_ERROR,
    Nccl,
    Rank,
    config,
)
from toolkit.fakes import ROOT, fake_calls, fake_environment
from toolkit.waiting import until

NOT_READY = 600
Pair = tuple[Rank, Rank]


@pytest.fixture
def ranks(tmp_path: Path, fake_log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """Two ranks in this process, on two devices, that have not joined."""
    monkeypatch.setenv("JITC_FAKE_DEVICES", "2")
    monkeypatch.setenv("JITC_FAKE_FAIL_FILE", str(tmp_path / "failures"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("NCCL_HOSTID", raising=False)
    driver = Driver(tmp_path)
    driver.ok("cuInit", 0)
    nccl = Nccl(driver, tmp_path)
    yield Rank(driver, nccl, 0), Rank(driver, nccl, 1)
    for device in range(2):
        driver.cuDevicePrimaryCtxReset_v2(device)
    driver.cuCtxSetCurrent(None)


@pytest.fixture
def pair(ranks: Pair) -> Iterator[Pair]:
    """The same, joined by communicators that do not block."""
    unique = ranks[0].nccl.unique_id()
    for number, one in enumerate(ranks):
        assert one.init(2, unique, number) == IN_PROGRESS
    assert [one.settled() for one in ranks] == [SUCCESS] * 2
    yield ranks
    for one in ranks:
        one.nccl.ncclCommAbort(one.comm)


def both(pair: Pair, name: str, *arguments: tuple[int, ...]) -> None:
    """The call on both ranks, with the arguments of each."""
    for one, args in zip(pair, arguments, strict=True):
        one.run(name, *args)


@pytest.mark.parametrize(
    ("type_", "form", "left", "right"),
    [(FLOAT32, "f", 1.5, 2.25), (FLOAT64, "d", 1e300, -1e299), (FLOAT16, "e", 0.5, 512.0), (INT64, "q", -7, 9)],
)
def test_reductions(pair: Pair, type_: int, form: str, left: float, right: float) -> None:
    expected = {SUM: left + right, MAX: max(left, right), MIN: min(left, right)}
    if type_ != FLOAT64:
        expected[PROD] = left * right
        expected[AVG] = (left + right) / 2
    for op, value in expected.items():
        places = [one.array(form, [number] * 3) for one, number in zip(pair, (left, right), strict=True)]
        both(pair, "ncclAllReduce", *((place, place, 3, type_, op) for place in places))
        assert [one.values(form, place, 3) for one, place in zip(pair, places, strict=True)] == [[value] * 3] * 2


def test_bfloat16_rounds_to_even(pair: Pair) -> None:
    one, tiny, more = 0x3F80, 0x3B80, 0x3BC0  # 1, 2**-8, 2**-8 * 1.5
    places = [pair[0].array("H", [one, one]), pair[1].array("H", [tiny, more])]
    both(pair, "ncclAllReduce", *((place, place, 2, BFLOAT16, SUM) for place in places))
    assert pair[0].values("H", places[0], 2) == [0x3F80, 0x3F81]


def test_collectives(pair: Pair) -> None:
    sources = [one.array("q", [10 * number + each for each in range(4)]) for number, one in enumerate(pair)]
    targets = [one.array("q", [0] * 8) for one in pair]
    couples = list(zip(sources, targets, strict=True))
    both(pair, "ncclAllGather", *((source, target, 4, INT64) for source, target in couples))
    assert pair[1].values("q", targets[1], 8) == [0, 1, 2, 3, 10, 11, 12, 13]
    both(pair, "ncclReduceScatter", *((source, target, 2, INT64, SUM) for source, target in couples))
    assert [one.values("q", at, 3) for one, at in zip(pair, targets, strict=True)] == [[10, 12, 2], [14, 16, 2]]
    both(pair, "ncclBroadcast", *((source, target, 4, INT64, 1) for source, target in couples))
    assert pair[0].values("q", targets[0], 4) == [10, 11, 12, 13]
    both(pair, "ncclReduce", *((source, target, 4, INT64, MAX, 0) for source, target in couples))
    assert pair[0].values("q", targets[0], 4) == [10, 11, 12, 13]
    assert pair[1].values("q", targets[1], 4) == [10, 11, 12, 13]  # of the broadcast: not the root
    assert pair[1].values("q", sources[1], 4) == [10, 11, 12, 13]


def test_large_arrays_go_piece_by_piece(pair: Pair) -> None:
    count = 100_001
    sources = [one.array("q", [number + each for each in range(2 * count)]) for number, one in enumerate(pair)]
    targets = [one.array("q", [0] * count) for one in pair]
    couples = zip(sources, targets, strict=True)
    both(pair, "ncclReduceScatter", *((source, target, count, INT64, SUM) for source, target in couples))
    assert pair[1].values("q", targets[1], count) == [2 * each + 1 for each in range(count, 2 * count)]


def test_an_operation_that_multiplies_first(pair: Pair) -> None:
    places, scalars, ops = [one.array("f", [2.0]) for one in pair], [ctypes.c_float(10), ctypes.c_float(1)], []
    on_device = pair[1].array("f", [100.0])
    for one, scalar, residence in zip(pair, (ctypes.addressof(scalars[0]), on_device), (1, 0), strict=True):
        op = ctypes.c_int()
        arguments = (ctypes.c_void_p(scalar), FLOAT32, residence, one.comm)
        assert one.nccl.ncclRedOpCreatePreMulSum(ctypes.byref(op), *arguments) == 0
        ops.append(op.value)
    couples = list(zip(places, ops, strict=True))
    both(pair, "ncclAllReduce", *((place, place, 1, FLOAT32, op) for place, op in couples))
    assert pair[0].values("f", places[0], 1) == [220.0]
    assert pair[0].nccl.ncclRedOpDestroy(ops[0], pair[0].comm) == 0
    assert pair[0].call("ncclAllReduce", places[0], places[0], 1, FLOAT32, ops[0]) == INVALID_ARGUMENT


def test_everybody_to_everybody_by_messages(pair: Pair) -> None:
    count = 20_000  # more than fits between two ranks: only side by side it comes through
    sources = [one.array("q", [100 * me + to for to in range(2) for _ in range(count)]) for me, one in enumerate(pair)]
    targets = [one.array("q", [0] * 2 * count) for one in pair]
    for one, source, target in zip(pair, sources, targets, strict=True):
        assert one.nccl.ncclGroupStart() == 0
        for peer in range(2):
            assert one.call("ncclSend", source + peer * count * 8, count, INT64, peer) == 0
            assert one.call("ncclRecv", target + peer * count * 8, count, INT64, peer) == 0
        assert one.nccl.ncclGroupEnd() == IN_PROGRESS and one.settled() == SUCCESS
    for me, (one, target) in enumerate(zip(pair, targets, strict=True)):
        assert one.values("q", target, 2 * count) == [me] * count + [100 + me] * count


def test_work_waits_for_its_stream_and_for_the_others(pair: Pair) -> None:
    first, second = pair
    places = [one.array("q", [1]) for one in pair]
    first.use()
    gate = first.driver.gate(first.stream)
    both(pair, "ncclAllReduce", *((place, place, 1, INT64, SUM) for place in places))
    second.use()
    assert second.driver.query(second.stream) == NOT_READY
    gate.open()
    assert second.values("q", places[1], 1) == [2]


def test_two_streams_keep_the_order_of_calls(pair: Pair) -> None:
    """The second call is on a free stream but runs after the first, whose stream is held."""
    places = [one.array("q", [1]) for one in pair]
    pair[0].use()
    gate, held, free = pair[0].driver.gate(pair[0].stream), pair[0].stream, pair[0].driver.stream()
    pair[0].run("ncclAllReduce", places[0], places[0], 1, INT64, SUM)
    pair[0].stream = free
    pair[0].run("ncclBroadcast", places[0], places[0], 1, INT64, 1)
    pair[1].run("ncclAllReduce", places[1], places[1], 1, INT64, SUM)
    pair[1].run("ncclBroadcast", places[1], places[1], 1, INT64, 1)
    pair[0].use()
    assert pair[0].driver.query(free) == NOT_READY
    gate.open()
    assert pair[0].values("q", places[0], 1) == [2]
    pair[0].driver.synchronize(held)


def test_a_collective_in_a_graph(pair: Pair) -> None:
    places, graphs, captured = [one.array("q", [1]) for one in pair], [], []
    for one, place in zip(pair, places, strict=True):
        one.use()
        driver, graph = one.driver, ctypes.c_void_p()
        driver.ok("cuStreamBeginCapture_v2", ctypes.c_void_p(one.stream), 1)
        one.run("ncclAllReduce", place, place, 1, INT64, SUM)
        driver.ok("cuStreamEndCapture", ctypes.c_void_p(one.stream), ctypes.byref(graph))
        captured.append(graph)
        graphs.append(driver.make("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0)))
    for _ in range(3):
        for one, executable in zip(pair, graphs, strict=True):
            one.use()
            one.driver.ok("cuGraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(one.stream))
    assert pair[0].values("q", places[0], 1) == [8]
    for one, graph, executable in zip(pair, captured, graphs, strict=True):  # communicators end only after their graphs
        one.use()
        one.driver.synchronize(one.stream)
        one.driver.ok("cuGraphExecDestroy", ctypes.c_void_p(executable))
        one.driver.ok("cuGraphDestroy", graph)


def test_split(pair: Pair) -> None:
    children = [ctypes.c_void_p(), ctypes.c_void_p()]
    for one, child, key in zip(pair, children, (5, 3), strict=True):
        assert one.nccl.ncclCommSplit(one.comm, 7, key, ctypes.byref(child), config(0)) == IN_PROGRESS
    for one, child in zip(pair, children, strict=True):
        parent, one.comm = one.comm, child
        assert one.settled() == SUCCESS
        number = ctypes.c_int()
        assert one.nccl.ncclCommUserRank(one.comm, ctypes.byref(number)) == 0
        assert number.value == (1 if one is pair[0] else 0)  # the smaller key goes first
        one.comm = parent
    alone = ctypes.c_void_p(1)
    for one, color in zip(pair, (-1, 0), strict=True):
        assert one.nccl.ncclCommSplit(one.comm, color, 0, ctypes.byref(alone), config(0)) == IN_PROGRESS
    assert [one.settled() for one in pair] == [SUCCESS] * 2 and alone.value
    for handle in (*children, alone):
        assert pair[0].nccl.ncclCommDestroy(handle) == 0


def test_a_call_too_early_is_refused(ranks: Pair) -> None:
    unique = ranks[0].nccl.unique_id()
    place = ranks[0].array("q", [1])
    assert ranks[0].init(2, unique, 0) == IN_PROGRESS
    assert ranks[0].state() == IN_PROGRESS  # nobody else came
    assert ranks[0].call("ncclAllReduce", place, place, 1, INT64, SUM) == INVALID_ARGUMENT
    ranks[0].abort()
    assert ranks[0].call("ncclAllReduce", place, place, 1, INT64, SUM) == INVALID_ARGUMENT


@pytest.mark.parametrize(("hosts", "result"), [(("a", "a"), INVALID_USAGE), (("a", "b"), SUCCESS)])
def test_two_ranks_on_one_device(
    ranks: Pair, hosts: tuple[str, str], result: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    unique = ranks[0].nccl.unique_id()
    pair = ranks[0], Rank(ranks[0].driver, ranks[0].nccl, 0)
    for number, one in enumerate(pair):
        monkeypatch.setenv("NCCL_HOSTID", hosts[number])
        assert one.init(2, unique, number) == IN_PROGRESS
        # it has read its environment by then
        until(lambda: [each for each in fake_calls(_log()) if each.name == "cuDeviceGetPCIBusId"] or None, 20, "join")
    assert [one.settled() for one in pair] == [result] * 2
    for one in pair:
        one.abort()


def _log() -> Path:
    return Path(os.environ["JITC_FAKE_LOG"])


def test_abort_ends_what_waits_for_a_peer(pair: Pair) -> None:
    place = pair[0].array("q", [1])
    pair[0].run("ncclAllReduce", place, place, 1, INT64, SUM)
    assert pair[0].driver.query(pair[0].stream) == NOT_READY
    pair[0].abort()
    pair[0].driver.synchronize(pair[0].stream)
    aborts = [each for each in fake_calls(_log()) if each.name == "ncclCommAbort"]
    assert [each.args["others_inside"] for each in aborts] == [0]


def test_different_calls_are_an_error(pair: Pair) -> None:
    places = [one.array("q", [1, 1]) for one in pair]
    for count, (one, place) in enumerate(zip(pair, places, strict=True), 1):
        assert one.call("ncclAllReduce", place, place, count, INT64, SUM) == IN_PROGRESS
    for one in pair:
        one.settled()  # it is on the stream
        one.use()
        one.driver.synchronize(one.stream)
        assert one.settled() == INVALID_USAGE
        assert b"same call" in one.nccl.ncclGetLastError(one.comm)


def test_work_that_fails_or_hangs_when_asked(pair: Pair, tmp_path: Path) -> None:
    place = pair[0].array("q", [1])
    (tmp_path / "failures").write_text("ncclWork:1=6,ncclWork:2=hang")
    assert pair[0].call("ncclAllReduce", place, place, 1, INT64, SUM) == IN_PROGRESS
    pair[0].settled()  # it is on the stream
    pair[0].driver.synchronize(pair[0].stream)
    assert pair[0].settled() == 6
    pair[1].run("ncclAllReduce", pair[1].array("q", [1]), place, 1, INT64, SUM)
    assert pair[1].driver.query(pair[1].stream) == NOT_READY
    pair[1].abort()
    pair[1].driver.synchronize(pair[1].stream)


def test_a_bad_unique_id(ranks: Pair) -> None:
    unique = ranks[0].nccl.unique_id()
    unique.internal[20] ^= 1
    assert ranks[0].init(1, unique, 0, blocking=1) == SYSTEM_ERROR and not ranks[0].comm
    unique.internal[20] ^= 1
    assert ranks[0].init(1, unique, 0, blocking=1) == SUCCESS


def test_the_log_has_the_arguments(pair: Pair) -> None:
    place = pair[0].array("f", [1.0])
    assert pair[0].call("ncclBroadcast", place, place, 1, FLOAT32, 1) == IN_PROGRESS
    line = next(each for each in fake_calls(_log()) if each.name == "ncclBroadcast")
    wanted = {"from": hex(place), "to": hex(place), "count": 1, "type": FLOAT32, "peer": 1}
    assert {name: line.args[name] for name in wanted} == wanted and line.result == IN_PROGRESS


@pytest.mark.parametrize(("hosts", "answer"), [("ab", ["0", "True"]), ("aa", [str(INVALID_USAGE), "Duplicate GPU"])])
def test_two_processes_on_one_device(tmp_path: Path, hosts: str, answer: list[str]) -> None:
    program = [sys.executable, str(Path(__file__).with_name("fake_nccl.py")), str(tmp_path)]
    env = fake_environment() | {"PYTHONPATH": str(ROOT / "tests"), "CUDA_VISIBLE_DEVICES": "0"}
    processes = [
        subprocess.Popen([*program, str(rank), "2"], env=env | {"NCCL_HOSTID": host}, stdout=subprocess.PIPE, text=True)
        for rank, host in enumerate(hosts)
    ]
    try:
        for one in processes:
            lines = one.communicate(timeout=60)[0].splitlines()
            assert one.returncode == 0 and len(lines) == 2
            assert lines[0] == answer[0] and lines[1].startswith(answer[1])
    finally:
        for one in processes:
            one.kill()
            one.wait()


def test_internal_error_is_the_answer_of_an_aborted_split(pair: Pair) -> None:
    child = ctypes.c_void_p()
    assert pair[0].nccl.ncclCommSplit(pair[0].comm, 0, 0, ctypes.byref(child), config(0)) == IN_PROGRESS
    pair[0].abort()
    pair[0].comm = child
    assert pair[0].settled() == INTERNAL_ERROR

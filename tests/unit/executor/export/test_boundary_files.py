"""Boundaries read without a worker: the bytes that a worker that takes over would go back to, or an error.

Nothing is written, nothing of CUDA or of the executor is loaded, and damage is never given out as content.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from damage_rig import RECORD, Flip, Journal, crc32c, written
from executor_rig import BASE, Client, Shared, library, make_executor
from job_rig import BLOCKS, Job, begun, digest, live, run_and_kill, undisturbed
from rank_rig import CLASSES, Rank, minibatch, start_two, stop

from jitc.proxy.common.boundaries import BoundaryError, BoundaryFiles, SessionFiles
from jitc.proxy.common.executor import Executor

LIBRARY = library().with_name("libjitc_boundaries.so")
CHILD = Path(__file__).with_name("boundary_child.py")
SEED, STEPS = 7, 3
BOUNDARY = 2  # kind of a record


def files_of(shared: Shared) -> SessionFiles:
    spill = shared.path("spill") if shared.sizes["spill"] else ""
    return SessionFiles(
        shared.path("journal"), shared.sizes["journal"], shared.path("snapshot"), shared.sizes["snapshot"],
        spill, shared.sizes["spill"],
    )  # fmt: skip


def opened(shared: Shared) -> BoundaryFiles:
    return BoundaryFiles(files_of(shared), LIBRARY)


def bytes_of(files: BoundaryFiles, boundary: int) -> str:
    """SHA-256 of all rows, as job_rig.digest has it of the memory."""
    hashes = hashlib.sha256()
    for row in files.rows(boundary):
        hashes.update(files.read(boundary, row))
    return hashes.hexdigest()


def content(shared: Shared) -> list[list[tuple[int, str]]]:
    return [
        [(start, hashlib.sha256(os.pread(fd, end - start, start)).hexdigest()) for start, end in written(fd)]
        for fd in shared.fds.values()
    ]


def read_by_a_process(shared: Shared) -> dict[str, Any]:
    command = [sys.executable, str(CHILD), str(LIBRARY), json.dumps(asdict(files_of(shared)))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize("seed", range(6))
def test_what_a_killed_worker_left_is_read_by_another_process(seed: int, executors: list[Executor]) -> None:
    shared = Shared()
    try:
        run_and_kill(shared, seed, steps=8, after=random.Random(seed).randrange(2, 8))
        before = content(shared)
        found = read_by_a_process(shared)
        assert content(shared) == before
        newest = found["boundaries"][-1]
        assert newest["sha256"] == undisturbed(newest["number"], seed)[0]
        assert newest["whole"] and newest["copied_size"] == newest["size"] == sum(size for _, size, _ in live())

        executor = make_executor()
        executors.append(executor)
        executor.open_session(shared.request(rebuild=True, epoch=1))
        position = executor.command("Fence", {"session": 1, "epoch": 1})
        assert position["prepared"] == newest["number"]
    finally:
        shared.close()


def test_neither_cuda_nor_the_executor_is_loaded(shared: Shared, ended: Shared) -> None:
    loaded = read_by_a_process(ended)["libraries"]
    assert "libjitc_boundaries.so" in loaded
    for part in ("executor", "operators", "cuda", "torch", "nccl", "grpc"):
        assert not [one for one in loaded if part in one]


@pytest.fixture
def ended(shared: Shared) -> Shared:
    """The memory of a session whose worker has ended after STEPS minibatches."""
    run_job(shared, STEPS)
    return shared


def test_rows_are_those_of_the_boundary(ended: Shared) -> None:
    with opened(ended) as files:
        (boundary,) = files.boundaries()
        rows = files.rows(boundary.number)
        assert (boundary.number, boundary.rows) == (STEPS, BLOCKS)
        assert [(row.address, row.size, row.ordinal) for row in rows] == live()
        assert [row.index for row in rows] == list(range(BLOCKS))
        assert all(row.copied and len(row.hash) == 16 and not row.is_variable for row in rows)
        assert bytes_of(files, STEPS) == undisturbed(STEPS, SEED)[0]


def test_what_only_peers_have_is_said_to_have_no_copy() -> None:
    ranks: list[Rank] = start_two()
    try:
        for one in ranks:
            one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
        for _ in range(4):
            minibatch(ranks)
        with opened(ranks[0].shared) as files:
            newest = files.boundaries()[-1]
            rows = files.rows(newest.number)
            assert not newest.whole and [row.copied for row in rows] == [False, True, True]
            assert newest.copied_size == sum(row.size for row in rows if row.copied) < newest.size
            with pytest.raises(BoundaryError, match=f"block 0 of boundary {newest.number} has no copy: only"):
                files.read(newest.number, rows[0])
            statistics = files.read(newest.number, rows[1])
        assert statistics == ranks[0].client.call("copy_d2h", rows[1].address, rows[1].size).payload
    finally:
        stop(ranks)


def test_a_reserve_is_read_beside_the_newest() -> None:
    ranks: list[Rank] = start_two()
    try:
        for reserves in ({"next_reserve": 2}, {"reserve": 2}):
            for one in ranks:
                one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES, **reserves)
            for _ in range(3):
                minibatch(ranks)
        with opened(ranks[0].shared) as files:
            found = {one.number: one.whole for one in files.boundaries()}
            assert found[2] and min(found) == 2 and max(found) == 6
            assert all(len(files.read(2, row)) == row.size for row in files.rows(2))
    finally:
        stop(ranks)


def run_job(shared: Shared, steps: int, after_each: Callable[[Client], object] = Client.drain) -> None:
    """Minibatches of the seed's job by a worker that ends then."""
    executor, job = make_executor(), Job(SEED)
    try:
        client = begun(executor, shared, job)
        for _ in range(steps):
            job.minibatch(client)
            after_each(client)
    finally:
        executor.close()


def test_while_the_worker_goes_on_what_is_read_is_right_or_an_error(shared: Shared) -> None:
    """The reader looks as often as it can while boundaries come and go."""
    steps, expected, first = 60, list[str](), Shared()
    run_job(first, steps, lambda client: expected.append(digest(client)))
    first.close()
    reader = Reader(shared, dict(enumerate(expected, start=1)))

    def step(client: Client) -> None:
        client.drain()
        if not reader.ident:
            reader.start()

    try:
        run_job(shared, steps, step)
    finally:
        reader.end()
    assert reader.looks > 0 and not reader.wrong, reader.wrong
    with opened(shared) as files:
        assert bytes_of(files, steps) == expected[-1]


class Reader(threading.Thread):
    """Opens the files again and again, and notes what it read that is not as expected."""

    def __init__(self, shared: Shared, expected: dict[int, str]) -> None:
        super().__init__()
        self.shared, self.expected = shared, expected
        self.looks, self.wrong, self.over = 0, list[str](), threading.Event()

    def end(self) -> None:
        self.over.set()
        if self.ident:
            self.join()

    def run(self) -> None:
        while not self.over.is_set():
            try:
                with opened(self.shared) as files:
                    number = files.boundaries()[-1].number
                    found = bytes_of(files, number)
            except BoundaryError as error:
                if "was given up by its worker meanwhile" not in str(error):
                    self.wrong.append(str(error))
                continue
            self.looks += 1
            if found != self.expected[number]:
                self.wrong.append(f"boundary {number} has other bytes")


# -- damage ------------------------------------------------------------------------------------------------


def test_a_copy_of_which_a_bit_has_changed_is_refused(ended: Shared) -> None:
    with opened(ended) as files:
        rows = files.rows(STEPS)
    start, _ = written(ended.fds["snapshot"])[0]
    Flip("snapshot", start + 100, 3).apply(ended)
    with opened(ended) as files:
        outcomes = []
        for row in rows:
            try:
                outcomes.append(len(files.read(STEPS, row)))
            except BoundaryError as error:
                outcomes.append(str(error))
    damaged = [one for one in outcomes if isinstance(one, str)]
    assert len(damaged) == 1 and damaged[0].endswith("is damaged: it is not what was copied")


@pytest.mark.parametrize("seed", range(40))
def test_any_bit_of_the_journal_that_has_changed_is_noticed(ended: Shared, seed: int) -> None:
    journal = Journal(ended)
    ranges = [*journal.used_header(), *journal.ranges("journal")]
    start, end = random.Random(seed).choice(ranges)
    place = random.Random(seed).randrange(start, end)
    with opened(ended) as files:
        expected = (files.boundaries(), bytes_of(files, STEPS))
    Flip("journal", place, seed % 8).apply(ended)
    try:
        with opened(ended) as files:
            assert (files.boundaries(), bytes_of(files, STEPS)) == expected  # a bit that nothing depends on
    except BoundaryError as error:
        assert "journal" in str(error)


def test_any_bit_of_a_boundarys_record_is_noticed(ended: Shared) -> None:
    """Of its header too: one that is taken for the end of its chunk would hide all that comes after it."""
    _, memory, offset, size = [one for one in Journal(ended).records() if one[0] == BOUNDARY][-1]
    for bit in range(8 * size):
        flip = Flip(memory, offset + bit // 8, bit % 8)
        flip.apply(ended)
        with pytest.raises(BoundaryError, match="the journal is damaged at position"):
            opened(ended)
        flip.apply(ended)
    with opened(ended) as files:
        assert bytes_of(files, STEPS) == undisturbed(STEPS, SEED)[0]


@pytest.mark.parametrize("seed", range(60))
def test_a_boundary_record_of_garbage_never_crashes(ended: Shared, seed: int) -> None:
    """With the right checksum, as somebody would write it who wants to do harm."""
    rng = random.Random(seed)
    boundaries = [one for one in Journal(ended).records() if one[0] == BOUNDARY]
    _, memory, offset, size = boundaries[-1]
    record = bytearray(os.pread(ended.fds[memory], size, offset))
    for _ in range(rng.choice((1, 1, 4, 64))):
        place = rng.randrange(RECORD.size, size // 8 * 8 - 7)
        values = (0, 1, 0xFFFF_FFFF_FFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF, rng.getrandbits(64), rng.getrandbits(16))
        struct.pack_into("<Q", record, place, rng.choice(values))
    struct.pack_into("<I", record, 0, crc32c(bytes(record[4:])))
    os.pwrite(ended.fds[memory], bytes(record), offset)
    try:
        with opened(ended) as files:
            for boundary in files.boundaries():
                for row in files.rows(boundary.number)[:100]:
                    if row.size < 1 << 24:
                        read_or_refuse(files, boundary.number, row)
    except BoundaryError as error:
        assert str(error)


def read_or_refuse(files: BoundaryFiles, boundary: int, row: Any) -> None:
    try:
        assert len(files.read(boundary, row)) == row.size
    except BoundaryError as error:
        assert str(error)


# -- what is asked for wrongly -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files: replace(files, journal="/nowhere/journal"), "cannot open /nowhere/journal: No such file"),
        (lambda files: replace(files, copies="/nowhere/copies"), "cannot open /nowhere/copies: No such file"),
        (lambda files: replace(files, journal_bytes=files.journal_bytes // 2), "was made with other sizes"),
        (lambda files: replace(files, journal_bytes=1), "the journal needs at least"),
        (lambda files: replace(files, journal_bytes=files.journal_bytes * 2), "bytes, not "),
        (lambda files: replace(files, journal=files.copies), "this is no journal"),
        (lambda files: replace(files, copies_bytes=files.copies_bytes * 2), "bytes, not "),
    ],
    ids=["no-journal", "no-copies", "half", "one-byte", "twice", "no-magic", "short-copies"],
)
def test_files_that_are_none_of_a_session_are_refused(
    ended: Shared, change: Callable[[SessionFiles], SessionFiles], said: str
) -> None:
    with pytest.raises(BoundaryError, match=said):
        BoundaryFiles(change(files_of(ended)), LIBRARY)


def test_what_is_not_there_is_said_by_name(ended: Shared) -> None:
    with opened(ended) as files:
        row = files.rows(STEPS)[0]
        with pytest.raises(BoundaryError, match="boundary 77 is not in the journal"):
            files.rows(77)
        with pytest.raises(BoundaryError, match="has 8 rows, so none with index 8"):
            files.read(STEPS, replace(row, index=BLOCKS))
        with pytest.raises(BoundaryError, match="has 65536 bytes, not 12"):
            files.read_into(STEPS, row, bytearray(12))
    with pytest.raises(BoundaryError, match="these files were closed"):
        files.boundaries()
    files.close()  # a second time


def test_a_session_without_a_boundary_has_none(shared: Shared) -> None:
    executor = make_executor()
    executor.open_session(shared.request())
    client = Client(executor)
    client.attach()
    client.call("allocate", BASE, 1 << 20)
    executor.close()
    with opened(shared) as files:
        assert not files.boundaries()


def test_files_that_were_closed_are_held_no_more(ended: Shared) -> None:
    def held() -> tuple[int, int]:
        maps = Path("/proc/self/maps").read_text().splitlines()
        return len(os.listdir("/proc/self/fd")), sum("memfd:test-" in line for line in maps)

    before = held()
    for files in (files_of(ended), replace(files_of(ended), journal=ended.path("snapshot"))):
        for _ in range(20):
            try:
                BoundaryFiles(files, LIBRARY).close()
            except BoundaryError:
                assert files.journal == files.copies
    assert held() == before

"""Two ranks: the group's boundaries, the barrier before a step, and restoring a lost rank from its peer.

Each rank has parameters (equal on both, changed by the optimizer step), statistics (its own, changed in
the forward pass) and a batch (its own, new in every minibatch). The tests play the coordinator.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from executor_rig import NOTICE, wait_for
from rank_rig import BLOCK, CLASSES, STATISTICS, Rank, contents, minibatch, start_two, stop

from jitc.proxy.common.executor import ExecutorError

#: So long a fence waits for a step that waits for nobody (recovery.cpp).
WAITED_FOR = 10.0


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    yield made
    stop(made)


@pytest.fixture
def expected() -> list[list[str]]:
    """Contents after each of six minibatches without a fault."""
    ranks = start_two()
    found = []
    for _ in range(6):
        minibatch(ranks)
        found.append(contents(ranks))
    stop(ranks)
    return found


def peer_mode(ranks: list[Rank]) -> None:
    """As the node service does: measure some boundaries, then rely on peers for what is equal."""
    for one in ranks:
        one.command("SetPolicy", copy_all=True, barrier=True, measure_every=1, **CLASSES)
    for _ in range(2):
        minibatch(ranks)
        tables = [one.command("BoundaryTable", boundary=one.client.boundaries)["rows"] for one in ranks]
    assert tables[0][0]["hash"] == tables[1][0]["hash"] != ""
    assert tables[0][1]["hash"] != tables[1][1]["hash"]
    assert tables[0][0]["hash_before_step"] not in ("", tables[0][0]["hash"])  # the step changed it
    assert tables[0][1]["hash_before_step"] == tables[0][1]["hash"]  # only the forward pass did
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
        assert one.stats()["policy"] == "peer"
    minibatch(ranks)
    rows = ranks[0].command("BoundaryTable", boundary=3)["rows"]
    assert [row["copied"] for row in rows] == [False, True, True]


def fence(ranks: list[Rank], epoch: int) -> list[dict[str, Any]]:
    return [one.command("Fence", epoch=epoch) for one in ranks]


def transfer(source: Rank, target: Rank, missing: list[dict[str, Any]], boundary: int) -> None:
    fd = os.memfd_create("test-transfer")
    path = f"/proc/{os.getpid()}/fd/{fd}"
    table = {row["ordinal"]: row for row in source.command("BoundaryTable", boundary=boundary)["rows"]}
    out, into = [], []
    for index, row in enumerate(missing):
        held = table[row["ordinal"]]
        assert held["bytes"] == row["bytes"] and row["hash"] in ("", held["hash"])
        place = {"bytes": row["bytes"], "offset": index * BLOCK, "hash": held["hash"]}
        out.append({"address": held["address"], **place})
        into.append({"address": row["address"], **place})
    assert source.command("Export", boundary=boundary, path=path, blocks=out)["bytes"] == BLOCK * len(missing)
    assert target.command("Import", boundary=boundary, path=path, blocks=into)["bytes"] == BLOCK * len(missing)
    os.close(fd)


def resume(ranks: list[Rank], epoch: int) -> None:
    for one in ranks:
        one.command("Resume", epoch=epoch, slots=[0, 1])


def test_a_minibatch_is_kept_until_every_rank_has_the_next(ranks: list[Rank]) -> None:
    minibatch(ranks)
    minibatch(ranks)
    for one in ranks:
        one.forward()
        one.step()
    ranks[0].finish()
    wait_for(lambda: ranks[0].stats()["boundary"] == 3)
    position = ranks[0].command("Fence", epoch=1)
    assert (position["prepared"], position["committed"]) == (3, 2)
    ranks[1].command("Fence", epoch=1)
    for one in ranks:
        assert one.command("Rollback", boundary=2)["complete"]
    resume(ranks, 1)
    ranks[1].finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 3)


def test_nobody_begins_a_step_before_all_have_reached_it(expected: list[list[str]], ranks: list[Rank]) -> None:
    peer_mode(ranks)
    for one in ranks:
        one.forward()
    ranks[0].step()
    ranks[0].finish()
    wait_for(lambda: ranks[0].reached() == 4)
    begun_by_other = ranks[1].command("Fence", epoch=1)
    position = ranks[0].command("Fence", epoch=1)
    assert (position["prepared"], position["begun"], begun_by_other["begun"]) == (3, 3, 3)
    # Nobody has begun: memory is as it was, and both go back in place without a copy of the parameters.
    for one in ranks:
        reply = one.command("Rollback", boundary=3)
        assert reply["complete"] and reply["bytes"] == BLOCK + 4096
    resume(ranks, 1)
    ranks[1].step()
    ranks[1].finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 4)
    assert contents(ranks) == expected[3]


def test_a_step_that_began_without_the_barrier_is_not_waited_for(ranks: list[Rank]) -> None:
    """Its streams may wait for a rank that does not come, whatever the job relies on since: a fence takes no time."""
    minibatch(ranks)
    ranks[0].forward()  # with a collective to which rank 1 does not come
    ranks[0].step()
    wait_for(lambda: ranks[0].reached() == 2)
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
    fenced = threading.Thread(target=fence, args=(ranks, 1))
    fenced.start()
    fenced.join(WAITED_FOR * 0.8)
    took_long = fenced.is_alive()
    fenced.join()
    assert not took_long
    for one in ranks:
        assert one.command("Rollback", boundary=1)["complete"]
    resume(ranks, 1)
    ranks[1].forward()
    ranks[1].step()
    for one in ranks:
        one.finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 2)


def test_a_step_in_which_ranks_wait_for_each_other_is_too_late_for_a_validation(ranks: list[Rank]) -> None:
    """Whoever waits there has passed the place where it would stop: it must not say that it will."""
    peer_mode(ranks)
    for one in ranks:
        one.forward()
    ranks[0].step()
    ranks[0].finish()
    wait_for(lambda: ranks[0].reached() == 4)
    with pytest.raises(ExecutorError, match="step 4 has begun already"):
        ranks[0].command("Validate", step=4)
    assert not ranks[1].command("Validate", step=4)["standing"]
    ranks[1].command("Validate", step=5)
    ranks[1].step()
    ranks[1].finish()


def test_a_lost_rank_gets_from_its_peer_what_has_no_copy(expected: list[list[str]], ranks: list[Rank]) -> None:
    peer_mode(ranks)
    for one in ranks:
        one.forward()
    ranks[1].client.drain()
    ranks[1].lose()
    ranks[0].command("Fence", epoch=1)
    ranks[1].rebuild(1)
    assert ranks[1].command("Fence", epoch=1)["prepared"] == 3
    assert ranks[0].command("Rollback", boundary=3)["complete"]
    reply = ranks[1].command("Rollback", boundary=3)
    assert not reply["complete"] and [row["ordinal"] for row in reply["missing"]] == [0]
    assert reply["missing"][0]["hash"]
    transfer(ranks[0], ranks[1], reply["missing"], 3)
    resume(ranks, 1)
    for one in ranks:
        one.step()
        one.finish()
    assert contents(ranks) == expected[3]
    minibatch(ranks)
    assert contents(ranks) == expected[4]


@pytest.mark.parametrize("healthy_is_done", [False, True])
def test_a_rank_lost_inside_the_step_rolls_forward(
    expected: list[list[str]], ranks: list[Rank], healthy_is_done: bool
) -> None:
    peer_mode(ranks)
    for one in ranks:
        one.forward()
        one.step()
    if healthy_is_done:
        ranks[0].finish()
        wait_for(lambda: ranks[0].stats()["boundary"] == 4)
        ranks[0].client.op("fill", ranks[0].client.base + STATISTICS, 4096, 0, 1)  # the next forward pass
        ranks[0].client.flush()
    wait_for(lambda: ranks[1].stats()["executed"] == ranks[1].client.sequence)
    ranks[1].lose()
    position = ranks[0].command("Fence", epoch=1)
    assert position["begun"] == 4 and position["prepared"] == (4 if healthy_is_done else 3)
    ranks[1].rebuild(1)
    assert ranks[1].command("Fence", epoch=1)["begun"] == 4
    # Both programs go on by themselves: they know nothing of it.
    if not healthy_is_done:
        ranks[0].finish()
    ranks[1].finish()
    assert ranks[0].command("FinishStep", boundary=4, timeout_ms=20_000)["complete"]
    reply = ranks[1].command("SkipStep", boundary=4, timeout_ms=20_000)
    [missing] = reply["missing"]
    held = ranks[0].command("BoundaryTable", boundary=4)["rows"][0]
    assert (missing["ordinal"], missing["hash"], missing["in_place"]) == (0, "", False), reply
    assert missing["hash_before_step"] == held["hash_before_step"] not in ("", held["hash"])
    transfer(ranks[0], ranks[1], reply["missing"], 4)
    resume(ranks, 1)
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == 4)
    if healthy_is_done:
        assert ranks[1].content() == expected[3][1]
        return
    assert contents(ranks) == expected[3]
    # It can be lost again at once: its boundary is whole.
    ranks[1].lose()
    ranks[0].command("Fence", epoch=2)
    ranks[1].rebuild(2)
    assert ranks[1].command("Fence", epoch=2)["prepared"] == 4
    assert ranks[0].command("Rollback", boundary=4)["complete"]
    missing = ranks[1].command("Rollback", boundary=4)["missing"]
    transfer(ranks[0], ranks[1], missing, 4)
    resume(ranks, 2)
    minibatch(ranks)
    assert contents(ranks) == expected[4]


class LargeRank(Rank):
    """Has more parameters, all of them equal, than the memory for copies takes."""

    MEMORY, LARGE = 13 * BLOCK // 2, 8 * BLOCK

    def blocks(self) -> list[tuple[int, int, int]]:
        parameters, statistics, batch = super().blocks()
        return [parameters, statistics, (self.client.base + self.LARGE, self.LARGE, 2), batch]


def test_what_has_no_copy_from_before_the_step_is_not_taken_from_an_older_one() -> None:
    """Boundaries fit in the memory for copies; those of a step with a large gradient do not, nor a whole one."""
    ranks = start_two(snapshot=LargeRank.MEMORY, kind=LargeRank)
    own = {**CLASSES, "known_ordinals": [0, 1, 2]}
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **own)
    for _ in range(2):
        minibatch(ranks)
    for one in ranks:
        one.forward()
        one.step(gradient=4 * BLOCK)
    wait_for(lambda: ranks[1].stats()["executed"] == ranks[1].client.sequence)
    ranks[1].lose()
    ranks[0].command("Fence", epoch=1)
    ranks[1].rebuild(1)
    ranks[1].command("Fence", epoch=1)
    ranks[1].finish()
    reply = ranks[1].command("SkipStep", boundary=3, timeout_ms=20_000)
    stop(ranks)
    assert not reply["complete"] and not reply["missing"]
    assert f"a block of {BLOCK} bytes that no other rank is known to have has no copy" in reply["message"]


def test_skipping_a_step_that_waits_for_a_value_is_refused(ranks: list[Rank]) -> None:
    peer_mode(ranks)
    for one in ranks:
        one.forward()
        one.step()
    wait_for(lambda: ranks[1].stats()["executed"] == ranks[1].client.sequence)
    ranks[1].lose()
    ranks[0].command("Fence", epoch=1)
    ranks[1].rebuild(1)
    ranks[1].command("Fence", epoch=1)
    read = ranks[1].client.op("copy_d2h", ranks[1].client.base, 8)
    ranks[1].finish()
    reply = ranks[1].command("SkipStep", boundary=4, timeout_ms=20_000)
    assert not reply["complete"] and not reply["missing"]
    assert "copy_d2h" in reply["message"] and str(read) in reply["message"]


def test_a_program_that_does_not_get_there_is_waited_for_only_so_long(ranks: list[Rank]) -> None:
    peer_mode(ranks)
    for one in ranks:
        one.forward()
        one.step()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["executed"] == one.client.sequence)
    ranks[1].lose()
    ranks[0].command("Fence", epoch=1)
    ranks[1].rebuild(1)
    ranks[1].command("Fence", epoch=1)
    reply = ranks[1].command("SkipStep", boundary=4, timeout_ms=50)
    assert not reply["complete"] and "did not get to boundary 4" in reply["message"]
    reply = ranks[0].command("FinishStep", boundary=4, timeout_ms=50)
    assert not reply["complete"] and "in time" in reply["message"]
    assert ranks[0].stats()["state"] == "fenced"


def test_a_block_with_other_content_is_not_taken(ranks: list[Rank]) -> None:
    peer_mode(ranks)
    fence(ranks, 1)
    for one in ranks:
        one.command("Rollback", boundary=3)
    fd = os.memfd_create("test-transfer")
    path = f"/proc/{os.getpid()}/fd/{fd}"
    block = {"address": ranks[0].client.base, "bytes": BLOCK, "offset": 0, "hash": "11" * 16}
    with pytest.raises(ExecutorError, match="other content"):
        ranks[0].command("Export", boundary=3, path=path, blocks=[block])
    with pytest.raises(ExecutorError, match="other content"):
        ranks[1].command("Import", boundary=3, path=path, blocks=[{**block, "address": ranks[1].client.base}])
    with pytest.raises(ExecutorError, match="not allocated"):
        ranks[0].command("Export", boundary=3, path=path, blocks=[{**block, "address": 4096}])
    for method in ("Export", "Import"):
        with pytest.raises(ExecutorError, match="without the hash"):
            ranks[0].command(method, boundary=3, path=path, blocks=[{**block, "hash": ""}])
    os.close(fd)


def test_policies_survive_the_worker(ranks: list[Rank]) -> None:
    peer_mode(ranks)
    ranks[1].client.drain()
    ranks[1].lose()
    ranks[1].rebuild(1)
    assert ranks[1].stats()["policy"] == "peer"


def test_a_group_that_does_not_gather_goes_on_with_copies(ranks: list[Rank]) -> None:
    """The escape: slower than any step, but not for ever, and said aloud."""
    peer_mode(ranks)
    for one in ranks:
        one.forward()
    ranks[0].step()
    ranks[0].finish()
    client = ranks[0].client
    client.wait(lambda: any(one.kind == NOTICE for one in client.seen), seconds=60)
    wait_for(lambda: ranks[0].stats()["boundary"] == 4)
    assert ranks[0].stats()["policy"] == "copy"
    assert ranks[0].command("BoundaryTable", boundary=3)["rows"][0]["copied"]
    ranks[0].command("Fence", epoch=1)
    ranks[1].command("Fence", epoch=1)
    for one in ranks:
        assert one.command("Rollback", boundary=3)["complete"]

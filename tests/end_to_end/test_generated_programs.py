"""Twenty programs of the grammar, other ones for each commit, with workers killed: no difference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from soak.grammar import draw
from soak.grammar.campaign import judge
from soak.grammar.kinds import KINDS
from soak.grammar.model import Part, Program, fitting
from soak.grammar.pool import ENDED, Pool
from soak.grammar.seeds import COUNT, of_this_commit
from soak.grammar.verdict import LOUD, Verdict
from toolkit.workplace import Workplace

pytestmark = pytest.mark.timeout(900)  # of a busy machine; a program takes some seconds


ALONE = {
    **{"model": "norm", "optimizer": "sgd", "optimizers": 1, "together": "alone", "steps": "equal", "accumulate": 1},
    **{"loss": "each", "data": "device", "stream": "default", "clip": "yes", "average": "yes"},
}
#: Of seed 20265: a communicator is made at its first message, so that ranks wait for each other in PyTorch's store.
WAIT_IN_THE_STORE = (
    Part("ahead", (0, 1), {"sends": "later"}, 2),
    Part("actor", (0, 1), {"optimizer": "adamw", "transfer": "broadcast"}, 3),
    Part("learn", (0, 1), ALONE, 3),
    Part("pipeline", (0, 1), {"optimizer": "fused-adam", "batches": 2, "steps": "last-seldom"}, 2),
)


@pytest.fixture(scope="module")
def pool(shared_workplace: Workplace) -> Iterator[Pool]:
    one = Pool(shared_workplace)
    yield one
    one.close()


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return []


@pytest.mark.parametrize("number", range(COUNT))
def test_a_program_of_this_commit(pool: Pool, verdicts: list[Verdict], number: int) -> None:
    seed = of_this_commit()[number]
    program = draw.program(seed)
    verdict = judge(pool, program, twice=False)
    verdicts.append(verdict)
    print(f"seed {seed}: {verdict.kind} {verdict.why}, {verdict.outcomes}, {program.summary()}")
    assert not verdict.defect, (
        f"{verdict.kind}: {verdict.why}\n{program.summary()}\n"
        f'again, and made small: make soak SOAK="--programs 1 --seed {seed}"\n{program.text()}'
    )


def test_ranks_that_wait_for_each_other_outside_of_the_gpu_are_not_taken_for_hung(pool: Pool) -> None:
    run = pool.quiet(Program(1, 2, 8, 64, WAIT_IN_THE_STORE))
    assert (run.how, run.outcomes) == (ENDED, []), run.said


def test_an_iteration_more_changes_what_every_kind_leaves(pool: Pool) -> None:
    """Else a kind would compare nothing."""
    simplest = {name: {each: values[0] for each, values in kind.choices.items()} for name, kind in KINDS.items()}
    parts = tuple(Part(name, (0, 1), choices) for name, choices in simplest.items() if name != "allocator")
    records = []
    for iterations in (4, 5):
        program = fitting(Program(1, 2, iterations, 16, parts))
        assert program
        run = pool.quiet(program)
        assert run.how == ENDED, run.said
        records.append(run.records)
    for rank in range(2):
        same = [parts[a["part"]].kind for a, b in zip(records[0][rank], records[1][rank], strict=True) if a == b]
        assert not same, f"rank {rank}: {same}"


def test_most_of_them_come_through(verdicts: list[Verdict]) -> None:
    """A loud end is no defect of its own; if there were many, little would have been compared."""
    if len(verdicts) < COUNT:
        pytest.skip("not all of them were run")
    assert sum(one.kind == LOUD for one in verdicts) <= COUNT // 5, verdicts
    assert sum(bool(one.outcomes) for one in verdicts) >= COUNT // 2, "few were struck"

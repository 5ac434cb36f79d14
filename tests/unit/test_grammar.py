"""The grammar of training programs: what is drawn, how it is written, shrunk and compared."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from soak.grammar import campaign, draw, seeds, verdict
from soak.grammar.kinds import KINDS
from soak.grammar.model import ALL, INJECT, KILL, Program, fitting, read
from soak.grammar.pool import ENDED, FAILED, HUNG, Ran
from soak.grammar.shrink import shrink, smaller

from jitc.proxy.recovery.ending import of_defect
from jitc.proxy.recovery.report import NOT_PROVEN

COUNT = 400
MANY = [draw.program(seed) for seed in range(COUNT)]


# ---- drawing ------------------------------------------------------------------------------------
def test_equal_seeds_give_equal_programs_and_others_do_not() -> None:
    assert [draw.program(seed) for seed in range(COUNT)] == MANY
    assert len({one.text() for one in MANY}) == COUNT


def test_all_that_the_grammar_has_is_drawn() -> None:
    drawn = {(part.kind, name, value) for one in MANY for part in one.parts for name, value in part.choices.items()}
    known = {
        (kind, name, value) for kind, all_ in KINDS.items() for name, some in all_.choices.items() for value in some
    }
    assert drawn == known
    assert {one.ranks for one in MANY} == {1, 2, 3}
    faults = [each for one in MANY for each in one.faults]
    assert {one.what for one in faults} == {KILL, INJECT} and ALL in {one.rank for one in faults}
    assert {one.phase for one in faults} == {"", *draw.PHASES}
    assert {one.fault for one in faults} == {"kill-worker", "sticky-error"}


def test_a_program_is_possible_as_it_is_drawn() -> None:
    for one in MANY:
        assert fitting(one) == one and one.faults
        assert any(part.kind == "learn" for part in one.parts)
        for part in one.parts:
            assert set(part.ranks) <= set(range(one.ranks)) and len(part.ranks) >= KINDS[part.kind].least
        assert all(0 < fault.iteration < one.iterations and fault.rank < one.ranks for fault in one.faults)


def test_one_rank_at_most_gives_memory_back_where_threads_have_collectives() -> None:
    """Two that wait for all of their GPU's work would wait for each other, on a GPU too."""
    both = 0
    for one in map(draw.program, range(3000)):
        waits = any(
            part.kind in ("talk", "ahead") or (part.kind, part.choices.get("together")) == ("threads", "averaged")
            for part in one.parts
        )
        giving = [part.ranks for part in one.parts if "off" in (part.choices.get("turned"), part.choices.get("memory"))]
        assert not waits or len({rank for ranks in giving for rank in ranks}) < 2, one.text()
        both += waits and bool(giving)
    assert both > 3


def test_json_gives_back_what_was_written() -> None:
    assert [read(one.text()) for one in MANY] == MANY


def test_each_commit_has_programs_of_its_own() -> None:
    found = seeds.of_this_commit()
    assert len(found) == seeds.COUNT == 20 and found[0] % 20 == 0


def test_every_kind_can_be_run() -> None:
    """The script is not loaded here, since it needs PyTorch."""
    text = (Path(draw.__file__).parent / "script" / "run.py").read_text()
    assert all(f'"{kind}": ' in text for kind in KINDS)


#: Kinds that came later than others; each in one program of eight, or more.
THREADS, CHILD = "threads", "child"


def with_part(kind: str) -> list[Program]:
    return [one for one in MANY if any(part.kind == kind for part in one.parts)]


@pytest.mark.parametrize("kind", [THREADS, CHILD])
def test_threads_that_step_and_forks_are_in_many_programs_and_named(kind: str) -> None:
    found = with_part(kind)
    assert len(found) > COUNT // 8
    assert all(f"; {kind}" in f"; {one.summary().split(': ')[1]}" for one in found)
    loaders = [one for one in MANY for part in one.parts if str(part.choices.get("data")).startswith("workers")]
    assert len(loaders) > COUNT // 8


def chosen(kind: str) -> list[dict[str, object]]:
    return [dict(part.choices) for one in MANY for part in one.parts if part.kind == kind]


def test_threads_make_no_program_that_would_wait_in_a_circle() -> None:
    averaged = [one for one in chosen(THREADS) if one["together"] == "averaged"]
    assert averaged and all((one["stream"], one["gpus"]) == ("own", "one") for one in averaged)
    assert all(one["steps"] != "hooks" for one in averaged)


def test_children_write_to_memory_that_they_have() -> None:
    pinned = [one for one in chosen(CHILD) if one["gives"] == "pinned"]
    assert pinned and all(one["made"] in ("fork", "process") and one["lives"] != "early" for one in pinned)


def test_every_kind_is_in_the_readme() -> None:
    text = (Path(draw.__file__).parent / "README.md").read_text()
    assert not [kind for kind in KINDS if f"`{kind}`" not in text]


def test_programs_that_have_a_kind_are_found_from_a_seed_on() -> None:
    found = list(islice(draw.programs(5, [THREADS, CHILD]), 20))
    assert [seed for seed, _ in found] == sorted({seed for seed, _ in found}) and found[0][0] >= 5
    assert all({THREADS, CHILD} & {part.kind for part in one.parts} for _, one in found)
    assert all(draw.program(seed) == one for seed, one in found)
    assert [seed for seed, _ in islice(draw.programs(5), 3)] == [5, 6, 7]


# ---- shrinking ----------------------------------------------------------------------------------
def whole() -> Program:
    return next(one for one in MANY if one.ranks == 3 and len(one.parts) == 4 and len(one.faults) == 3)


def test_shrinking_ends_in_the_smallest_program_that_fails() -> None:
    """Made up: what fails is a learning rank 1 with a loss that is read each time."""

    def fails(one: Program) -> bool:
        return any(
            part.kind == "learn"
            and 1 in part.ranks
            and part.choices["loss"] == "each"
            and part.choices["clip"] == "yes"
            for part in one.parts
        )

    start = next(one for one in MANY if fails(one) and one.ranks == 3 and len(one.parts) > 2)
    small, tries = shrink(start, fails, 1000)
    assert (small.ranks, len(small.parts), len(small.faults), small.width) == (2, 1, 1, 16)
    [part] = small.parts
    assert part.ranks == (1,) and part.every == 1
    odd = {name for name, value in part.choices.items() if value != KINDS["learn"].choices[name][0]}
    assert odd == {"loss", "clip"}
    assert tries < 200 and not any(fails(one) for one in smaller(small))


@pytest.mark.parametrize(
    ("kind", "wanted"), [(THREADS, {"steps": "beside", "stream": "own"}), (CHILD, {"made": "fork", "lives": "late"})]
)
def test_shrinking_leaves_of_a_later_kind_what_the_failure_needs(kind: str, wanted: dict[str, str]) -> None:
    def fails(one: Program) -> bool:
        return any(part.kind == kind and wanted.items() <= part.choices.items() for part in one.parts)

    small, _ = shrink(next(one for one in MANY if fails(one) and len(one.parts) > 1), fails, 1000)
    [part] = small.parts
    odd = {name: value for name, value in part.choices.items() if value != KINDS[kind].choices[name][0]}
    simplest = {name: values[0] for name, values in KINDS[kind].choices.items()}
    assert len(part.ranks) == len(small.faults) == 1 and simplest | odd == simplest | wanted


def test_shrinking_needs_no_more_tries_than_it_has_and_is_the_same_each_time() -> None:
    asked: list[str] = []

    def fails(one: Program) -> bool:
        asked.append(one.text())
        return len(one.parts) > 1

    first = shrink(whole(), fails, 7)
    assert first[1] == len(asked) == 7 and len(set(asked)) == 7
    assert shrink(whole(), lambda one: len(one.parts) > 1, 7) == first


def test_what_never_fails_again_stays_as_it_was() -> None:
    assert shrink(whole(), lambda _: False, 1000)[0] == whole()


def test_every_smaller_program_is_possible() -> None:
    for start in MANY[:40]:
        for one in smaller(start):
            assert one != start and fitting(one) == one and one.faults and one.parts


# ---- comparing ----------------------------------------------------------------------------------
def ran(*, losses: tuple[str, ...] = ("0x1", "0x2"), weights: str = "aa", **more: object) -> Ran:
    record = {"part": 0, "losses": list(losses), "weights": weights, "optimizer": "cc"}
    return Ran(records=[[record | {"losses": ["0x1", "0x2"], "weights": "aa"}], [record]], **more)  # type: ignore[arg-type]


def test_what_is_identical_is() -> None:
    assert verdict.of_quiet(ran(), ran()) is None
    found = verdict.of_struck(ran(), ran(outcomes=["recovered"]))
    assert (found.kind, found.outcomes, found.defect) == (verdict.IDENTICAL, ["recovered"], False)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (ran(weights="bb"), "rank 1, part 0: weights differ"),
        (ran(losses=("0x1", "0x3")), "rank 1, part 0: losses from number 1 on differ"),
        (ran(losses=("0x1",)), "rank 1, part 0: losses from number 1 on differ"),
        (Ran(records=ran().records[:1]), "1 ranks instead of 2"),
        (Ran(records=[[], []]), "rank 0 has other parts"),
    ],
)
def test_each_difference_is_a_defect(other: Ran, why: str) -> None:
    found = verdict.of_struck(ran(), replace(other, outcomes=["recovered"]))
    assert (found.kind, found.why, found.defect) == (verdict.DIFFERENT, why, True)
    unstable = verdict.of_quiet(ran(), other)
    assert unstable and unstable.kind == verdict.UNSTABLE and why in unstable.why


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (f"given up: {of_defect(KeyError(7))}", verdict.OWN),
        (f"{NOT_PROVEN}: replicas have stopped agreeing", verdict.UNPROVEN),
        ("recovered, not bit-identical", verdict.REPLAYED),
        ("the program's own error: op 7 gave another result in replay than before", verdict.REPLAYED),
    ],
)
@pytest.mark.parametrize(
    "struck", [ran(), ran(weights="bb"), ran(divergences=1), Ran(how=FAILED, said="RuntimeError: 46"), Ran(how=HUNG)]
)
def test_what_jitc_says_of_itself_is_a_defect_however_the_run_ended(struck: Ran, outcome: str, kind: str) -> None:
    found = verdict.of_struck(ran(), replace(struck, outcomes=["recovered", outcome]))
    assert (found.kind, found.defect) == (kind, True) and found.why.startswith(outcome)


def test_a_defect_of_its_own_weighs_more_than_what_came_of_it() -> None:
    outcomes = [f"{NOT_PROVEN}: ranks differ", f"given up: {of_defect(KeyError(7))}"]
    assert verdict.of_struck(ran(), ran(outcomes=outcomes)).kind == verdict.OWN


#: As proxy/recovery/report.py says it.
OWN_ERROR = "the program's own error, handed to it"


def test_a_loud_end_is_counted_apart() -> None:
    given_up = ran(weights="bb", outcomes=["recovered", "given up: nobody holds it"])
    assert verdict.of_struck(ran(), given_up).kind == verdict.LOUD
    for why in ("given up: nobody holds it", f"{OWN_ERROR}: rank 0 (pid 7): no memory, twice at about the same place"):
        failed = Ran(how=FAILED, said="Traceback\nRuntimeError: CUDA error: 46\n", outcomes=["recovered", why])
        found = verdict.of_struck(ran(), failed)
        assert (found.kind, found.why, found.defect) == (verdict.LOUD, why, False)


@pytest.mark.parametrize("outcomes", [[], ["recovered"], ["recovered", "recovered"]])
def test_an_error_that_nothing_explains_is_a_defect(outcomes: list[str]) -> None:
    failed = Ran(how=FAILED, said="Traceback\nRuntimeError: CUDA error: 46\n", outcomes=outcomes)
    found = verdict.of_struck(ran(), failed)
    assert (found.kind, found.why, found.defect) == (verdict.RAISED, "RuntimeError: CUDA error: 46", True)


@pytest.mark.parametrize("struck", [ran(), ran(weights="bb"), Ran(how=FAILED, said="RuntimeError: 700")])
def test_no_error_is_the_programs_own(struck: Ran) -> None:
    """Even where a recovery says so, and where it is one of several."""
    outcome = f"{OWN_ERROR}: rank 1 (pid 7): an illegal address"
    found = verdict.of_struck(ran(), replace(struck, outcomes=["given up: x", outcome]))
    assert (found.kind, found.defect) == (verdict.RAISED, True) and outcome in found.why


def test_hangs_false_alarms_and_errors_without_a_fault_are_defects() -> None:
    found = [
        verdict.of_struck(ran(), Ran(how=HUNG)),
        verdict.of_struck(ran(), ran(divergences=1)),
        verdict.of_quiet(Ran(how=HUNG), None),
        verdict.of_quiet(Ran(how=FAILED), None),
        verdict.of_quiet(ran(), ran(outcomes=["recovered"])),
        verdict.of_quiet(ran(divergences=1), ran()),
    ]
    assert all(one and one.defect for one in found)
    assert ran().how == ENDED


# ---- campaigns ----------------------------------------------------------------------------------
class Made:
    """In place of a pool: a program with a collective ends with other weights when it is struck."""

    def quiet(self, program: Program) -> Ran:
        return ran()

    def run(self, program: Program) -> Ran:
        wrong = any(part.kind == "collect" for part in program.parts)
        return ran(weights="bb" if wrong else "aa", outcomes=["recovered"])


def test_a_campaign_goes_on_after_a_defect_and_keeps_it_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "EVIDENCE", tmp_path / "evidence")
    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    said: list[str] = []
    made = campaign.Campaign(tmp_path / "programs.json", "abc", say=said.append)
    odd = next(one for one in MANY if len(one.parts) > 2 and any(part.kind == "collect" for part in one.parts))
    fine = next(one for one in MANY if all(part.kind != "collect" for part in one.parts))
    for one in (odd, fine):
        made.add(Made(), one.seed, one, 500)  # type: ignore[arg-type]
    kept = tmp_path / "evidence" / f"generated-{odd.seed}"
    assert read((kept / "program.json").read_text()) == odd
    small = read((kept / "small.json").read_text())
    assert [one.kind for one in small.parts] == ["collect"] and len(small.faults) == 1
    command = f'make soak SOAK="--program evidence/generated-{odd.seed}/small.json"'
    assert command in (kept / "replay.txt").read_text() and command in said[1] and "silently different" in said[0]
    document = json.loads(made.path.read_text())
    assert document["verdicts"] == {"silently different": 1, "identical": 1}
    assert document["recoveries"] == {"recovered": 2} and len(document["rows"]) == 2
    assert "2 programs of abc, 2 struck, 0 loud, 1 defects" in made.table() and command in made.table()


def test_what_differs_from_run_to_run_is_told_apart_from_a_loss() -> None:
    class Moody(Made):
        """Each run gives something else."""

        def __init__(self) -> None:
            self.runs = 0

        def quiet(self, program: Program) -> Ran:
            self.runs += 1
            return ran(weights=f"{self.runs}")

    program = MANY[0]
    assert campaign.judge(Moody(), program).kind == verdict.UNSTABLE  # type: ignore[arg-type]
    assert campaign.judge(Moody(), program, twice=False).kind == verdict.UNSTABLE  # type: ignore[arg-type]
    odd = next(one for one in MANY if any(part.kind == "collect" for part in one.parts))
    assert campaign.judge(Made(), odd, twice=False).kind == verdict.DIFFERENT  # type: ignore[arg-type]

"""`--check-order`: planted races are found with their operators and lines, whatever the timing; right programs are not
reported; FSDP2's race in PyTorch 2.11 is found, and gone with `--known-fixes`; that of the PowerSGD hook, and gone with
its copies kept.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from toolkit.job import PRELOAD, ROOT, run_command
from toolkit.service import BIN
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1.control_pb2 import Fault

RACES, FSDP2 = Path(__file__).with_name("races.py"), Path(__file__).with_name("fsdp2_evaluation.py")
FOUND = 4
EXAMPLES = sorted(one.name for one in (ROOT / "examples").glob("train_*.py"))
QUICK = ("train_fsdp.py", "train_moe.py")
POWER_SGD = ROOT / "tests" / "third_party" / "programs" / "power_sgd.py"
#: Races of its own are those of this release.
KNOWN_RELEASE = torch.__version__.startswith("2.11.")


#: Of a report: operator, what it does, lines; twice.
_SIDE = r"  (\S+)(?: \(.*\))? (reads|writes) on .*\n((?:      .*\n)+)"
RACE = re.compile(r"jitc-proxyd: race in .*\n" + _SIDE + _SIDE)


def run(
    workplace: Workplace, *words: str, gpus: int = 1, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "jitc"), "run", "--gpus", str(gpus), "--check-order", *options, "--", *words]
    return run_command(command, env=workplace.env, timeout=300)


def run_ranks(workplace: Workplace, *program: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    launcher = (str(BIN / "torchrun"), "--standalone", "--nproc-per-node", "2")
    return run(workplace, *launcher, *program, gpus=2, options=options)


def line_of(mark: str) -> str:
    [number] = [number for number, line in enumerate(RACES.read_text().splitlines(), 1) if line.endswith(f"# {mark}")]
    return f"{RACES}:{number} in "


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("race", "first", "second"),
    [
        ("missing_wait", "aten::add_.Tensor writes", "aten::mul.Tensor reads"),
        ("wrong_stream", "aten::add_.Tensor writes", "aten::mul_.Tensor writes"),
        ("early_free", "aten::exp reads", "aten::fill_.Scalar writes"),
        ("callback", "aten::sub.Tensor reads", "aten::fill_.Scalar writes"),
        ("backward", "aten::mul_.Tensor writes", "aten::mul.Tensor reads"),
    ],
)
def test_planted_race(race: str, first: str, second: str, workplace: Workplace) -> None:
    done = run(workplace, sys.executable, str(RACES), race)
    assert done.returncode == FOUND, done.stderr
    assert done.stderr.endswith("jitc: 1 race found; docs/finding-races.md says what to do\n"), done.stderr
    [found] = RACE.findall(done.stderr)
    assert (f"{found[0]} {found[1]}", f"{found[3]} {found[4]}") == (first, second)
    assert found[2].strip().startswith(line_of(f"first {race}")), done.stderr
    assert found[5].strip().startswith(line_of(f"second {race}")), done.stderr


@pytest.mark.sampled
@pytest.mark.parametrize("race", ["many_places", pytest.param("many_functions", marks=pytest.mark.slow)])
def test_more_places_than_are_remembered(race: str, workplace: Workplace) -> None:
    """The race is found, and its operators are named without lines."""
    done = run(workplace, sys.executable, str(RACES), race)
    assert done.returncode == FOUND, done.stderr
    [found] = RACE.findall(done.stderr)
    assert (found[0], found[3]) == ("aten::add_.Tensor", "aten::mul.Tensor")
    for lines in (found[2], found[5]):
        assert lines.strip() == "(the program has been at more places than are remembered)", done.stderr


def test_right_program(workplace: Workplace) -> None:
    done = run(workplace, sys.executable, str(RACES), "right")
    assert (done.returncode, done.stderr) == (0, "jitc: no races found\n")


def test_the_programs_own_status_counts(workplace: Workplace) -> None:
    done = run(workplace, sys.executable, "-c", "raise SystemExit(7)")
    assert done.returncode == 7


def test_a_recovery_reports_nothing_twice(workplace: Workplace) -> None:
    """The worker dies behind the race, before a boundary: its ops are run again in another worker."""
    service = workplace.service(1, ("--check-order",))
    service.inject(Fault(kind="kill-worker", phase="copy"), 0)
    env = service.env | {"LD_PRELOAD": str(PRELOAD)}
    done = run_command([sys.executable, str(RACES), "missing_wait"], env=env, timeout=150)
    assert (done.returncode, done.stderr) == (0, "")
    until(lambda: not service.status()["gpus"][0]["sessions"], 30, "the end of the session")
    [race] = service.races()
    assert (race["first"]["op"], race["second"]["op"]) == ("aten::add_.Tensor", "aten::mul.Tensor")
    assert [one["outcome"] for one in service.report()] == ["recovered"]


needs_the_defect = pytest.mark.skipif(not KNOWN_RELEASE, reason="this release of PyTorch waits as it should")


@pytest.mark.sampled
@needs_the_defect
def test_fsdp2_after_an_evaluation(workplace: Workplace) -> None:
    """No rank is late: the race is found where nothing goes wrong."""
    done = run_ranks(workplace, str(FSDP2))
    assert done.returncode == FOUND, done.stderr
    assert "jitc: 1 race found" in done.stderr, done.stderr
    [(first, does, began, second, also_does, place)] = RACE.findall(done.stderr)
    # The next one's data is put into the buffer of the stray prefetch's all-gather: to where that reads, or, on the
    # other rank, to where it writes. The rank that is told of first is shown.
    assert (first, second, also_does) == ("ncclAllGather", "aten::_foreach_copy_", "writes")
    assert does in ("reads", "writes")
    assert re.fullmatch(rf" *{FSDP2}:\d+ in train, backward\n", began), began
    assert re.match(rf" *{FSDP2}:\d+ in forward\n", place) and "in foreach_all_gather\n" in place, place
    assert done.stderr.count("`jitc run --known-fixes`, or JITC_KNOWN_FIXES=1, applies the remedy") == 1, done.stderr


@pytest.mark.sampled
@needs_the_defect
def test_fsdp2_with_the_remedy(workplace: Workplace) -> None:
    assert_right_with_the_remedy(workplace)


@needs_the_defect
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fsdp2_with_the_remedy_twenty_times(workplace: Workplace) -> None:
    for _ in range(20):
        assert_right_with_the_remedy(workplace)


def assert_right_with_the_remedy(workplace: Workplace) -> None:
    """A rank is late, which makes the results wrong without it."""
    done = run_ranks(workplace, str(FSDP2), "--late", options=("--known-fixes",))
    assert done.returncode == 0, done.stderr
    assert "jitc: no races found" in done.stderr
    assert "--known-fixes" not in done.stderr, done.stderr
    assert sorted(re.findall(r"rank \d (\w+)", done.stdout)) == ["right", "right"]


@needs_the_defect
@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True])
def test_powersgd_with_several_buckets(workplace: Workplace, kept: bool) -> None:
    """The hook's callback reads a copy that it lets go, and the default stream writes there (docs/third-party.md)."""
    out = str(workplace.folder / "out")
    done = run_ranks(
        workplace, str(POWER_SGD), "--device", "cuda", "--steps", "6", "--out", out, *(("--keep", "1") if kept else ())
    )
    assert done.returncode == (0 if kept else FOUND), done.stderr
    races = RACE.findall(done.stderr)
    assert bool(races) != kept, done.stderr
    assert {(first, does, also_does) for first, does, _, _, also_does, _ in races} <= {
        ("aten::sub.Tensor", "reads", "writes")
    }, done.stderr
    for _, _, began, _, _, also_began in races:
        for lines in (began, also_began):
            assert lines.strip().startswith(f"{POWER_SGD}:"), done.stderr


def test_threads_that_begin_during_a_backward_pass(workplace: Workplace) -> None:
    """They once ended the process: a thread's state was read before the interpreter had filled it."""
    done = run(workplace, sys.executable, str(Path(__file__).with_name("foreign_threads.py")))
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


def test_only_on_the_software_device(workplace: Workplace) -> None:
    done = run_command([str(BIN / "jitc"), "run", "--device", "cuda", "--check-order", "--", "true"], env=workplace.env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("jitc: --check-order goes with --device software"), done.stderr


@pytest.mark.sampled
@pytest.mark.parametrize(
    "example", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in EXAMPLES]
)
def test_examples_have_no_races(example: str, workplace: Workplace) -> None:
    done = run_ranks(workplace, str(ROOT / "examples" / example), "--steps", "3")
    assert done.returncode == 0, done.stderr
    assert "jitc: no races found" in done.stderr

"""How the check on a GPU runs its steps, without a GPU: what is refused by design, what failed and runs again
otherwise, the context that is held meanwhile, and rehearsals."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gpu import check, plan, results, step, variants
from gpu.lab import Lab
from gpu.preflight import machine, modules
from gpu.steps import libraries
from toolkit.leaks import MARK, marked_processes, new_mark

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path, seconds=60)
    yield made
    made.close()


# -- refused by design -----------------------------------------------------------------------------

CUFFT = "jitc: cufftCreate is not supported: cuFFT is not served: transform on the CPU (docs/coverage.md)"
STATIC = "jitc: cuGetExportTable is not supported: core.so has a CUDA runtime of its own, linked in statically: no"
OTHER = "jitc: cudaMallocManaged is not supported: allocate device memory"


class Answering:
    """In place of a program that tries a feature."""

    def __init__(self, ok: bool, said: str = "") -> None:
        self._answer, self._said = {"ok": ok, "error": "" if ok else "it does not work"}, said

    def documents(self) -> list[dict[str, Any]]:
        return [self._answer]

    def answer(self) -> dict[str, Any]:
        return self._answer

    def said(self) -> str:
        return self._said

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("proxied", "native", "outcome"),
    [
        (Answering(False, CUFFT), True, (results.REFUSED, CUFFT)),
        (Answering(False, f"{OTHER}\n{STATIC}"), True, (results.REFUSED, STATIC)),
        (Answering(False, OTHER), True, (results.FAILED, "it does not work (works without the proxy)")),
        (Answering(False), True, (results.FAILED, "it does not work (works without the proxy)")),
        (Answering(False, CUFFT), False, (results.NOT_RUN, "does not work without the proxy either: it does not work")),
        (Answering(True, CUFFT), True, (results.PASSED, "")),
    ],
)
def test_what_is_refused_by_design_is_no_failure_and_what_is_not_is_news(
    place: Lab, monkeypatch: pytest.MonkeyPatch, proxied: Answering, native: bool, outcome: tuple[str, str]
) -> None:
    monkeypatch.setattr(libraries, "Service", lambda *_: contextlib.nullcontext(SimpleNamespace(socket="s")))
    monkeypatch.setattr(place, "program", lambda *_, socket="": proxied if socket else Answering(native))
    verdict, reason = step.run(place, libraries.__name__, "fft")
    assert (verdict, reason.partition("; with it: ")[0]) == outcome


def test_the_words_of_a_refusal_are_the_products() -> None:
    """Should they change there, what is refused by design would count as failed."""
    guard = (ROOT / "interpose" / "api" / "common" / "guard.cpp").read_text()
    assert all(f'"{words}"' in guard or f'{words}"' in guard for words in libraries.REFUSALS)
    assert libraries.REFUSALS[0] in (ROOT / "client_shim" / "refused_libraries.py").read_text()


def test_a_refused_step_is_no_failure_for_the_whole_check(tmp_path: Path) -> None:
    found = results.Results(tmp_path, "", rehearsal=False)
    found.plan(plan.NAMES, plan.NAMES)
    found.add("fft", results.REFUSED, CUFFT)
    found.add("cupy", results.FAILED, "something else")
    assert found.good(["fft"]) and not found.good(["fft", "cupy"])
    assert check._wanted("bad", found) == ["cupy"]
    assert "fft" not in check._wanted("missing", found)
    rows = {line.split()[0]: line.split()[1] for line in found.text().splitlines()}
    assert (rows["fft"], rows["cupy"]) == ("refused", "FAILED")


# -- what failed runs again ------------------------------------------------------------------------


def ran(
    verdicts: Mapping[str, str], seconds: float = 100.0, needs: tuple[str, ...] = (plan.JITC,)
) -> tuple[list[tuple[str, str]], list[dict[str, str]]]:
    """What a failed step's variants come to, and the environment that each had."""
    environments: list[dict[str, str]] = []

    def run(variant: str, environment: Mapping[str, str], _: float) -> tuple[str, str, float]:
        environments.append(dict(environment))
        return verdicts.get(variant, results.FAILED), "", 30.0

    left = iter(range(int(seconds), -1000, -30))
    all_found = list(variants.again(plan.Step("a", "m", 60, needs, least=15), run, lambda: next(left)))
    newest = all_found[-1] if all_found else []
    return [(one["variant"], one["verdict"]) for one in newest], environments


EVERY = (*variants.BLOCKING, variants.ALL, *variants.OTHERS)


def test_which_part_it_was() -> None:
    """Blocking launches, the others at once; each of these only where that passes."""
    found, environments = ran({variants.ALL: results.PASSED, "eager loading": results.PASSED}, seconds=500)
    assert [name for name, _ in found] == list(EVERY)
    assert [verdict for _, verdict in found] == ["failed", "passed", "passed", "failed", "failed"]
    assert environments[0] == {"CUDA_LAUNCH_BLOCKING": "1"} and environments[2] == {"CUDA_MODULE_LOADING": "EAGER"}
    together = {name: value for one in environments[2:] for name, value in one.items()}
    assert environments[1] == together | {"NCCL_DEBUG": "INFO"} and len(together) == len(variants.OTHERS)
    assert [name for name, _ in ran({}, seconds=500)[0]] == list(EVERY[:2])


def test_a_step_runs_again_only_in_time_that_is_left() -> None:
    everything = dict.fromkeys(EVERY, results.PASSED)
    assert ran(everything, seconds=14)[0] == []
    assert len(ran(everything, seconds=50)[0]) == 2
    assert ran(everything, needs=())[0] == []  # it is below jitc


def test_later_steps_keep_more_than_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = check._parser().parse_args(["--minutes", "5"])
    monkeypatch.setattr(check, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    made = check.Check(arguments, None, None)  # type: ignore[arg-type]
    later = tuple(plan.Step(name, "m", 60, least=50) for name in "ab")
    assert (made._spare(later), made._spare(())) == (100, 300)


def test_the_switches_are_documented_and_the_workers() -> None:
    own = [name for one in variants.OTHERS.values() for name in one if name.startswith("JITC_")]
    documented = (ROOT / "docs" / "cli.md").read_text()
    native = (ROOT / "proxy/native/device/cuda/driver/diagnosis.h").read_text()
    assert len(own) == 2 and all(f"`{name}=1`" in documented and f'"{name}"' in native for name in own)


#: A check with steps of its own: argv is its own. What it holds a context with says so instead.
STEPS = """
import os
from gpu.lab import StepFailed, StepRefused
def loading(lab):
    print("loading", os.environ.get("CUDA_MODULE_LOADING", ""), flush=True)
    lab.note(known=1)
    if os.environ.get("CUDA_MODULE_LOADING") != "EAGER":
        raise StepFailed("a kernel is not there")
    return {}
def refused(lab):
    raise StepRefused("by design")
below = always = loading
def fine(lab):
    return {}
"""
CHECKS = """
import sys
from gpu import check, plan
class Held:
    def __init__(self, driver, environment, log):
        print("held:", driver, flush=True)
    def close(self):
        print("let go", flush=True)
check.HeldContext = Held
needs = {"below": (), "fine": (plan.GPU,), "loading": (plan.JITC,), "refused": (plan.GPU, plan.JITC)}
plan.PLAN = tuple(plan.Step(name, "special", 20, needs[name], 1) for name in needs)
plan.NAMES = tuple(step.name for step in plan.PLAN)
run = check.Check._step
def told(self, step, seconds):
    print("step:", step.name, flush=True)
    run(self, step, seconds)
check.Check._step = told
sys.exit(check.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A check from its begin to its end: its document, the files of its archive, and what it said."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "special.py").write_text(STEPS)
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, "--out", str(folder / "r.json"), "--service=--driver=/a/libcuda.so"],
        capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'tests'}:{folder}"},
    )  # fmt: skip
    with tarfile.open(folder / "r.tar.gz") as packed:
        files = {one.name: packed.extractfile(one).read().decode() for one in packed.getmembers()}  # type: ignore[union-attr]
    document = json.loads((folder / "r.json").read_text())
    steps = {one["name"]: one for one in document["steps"]}
    return SimpleNamespace(steps=steps, files=files, said=done.stdout, status=done.returncode)


def test_a_failed_step_keeps_its_verdict_and_has_its_variants_beside_it(whole: SimpleNamespace) -> None:
    loading = whole.steps["loading"]
    assert (loading["verdict"], loading["reason"], loading["data"]["known"]) == ("failed", "a kernel is not there", 1)
    verdicts = {one["variant"]: one["verdict"] for one in loading["data"]["variants"]}
    assert verdicts == {
        "blocking launches": "failed", variants.ALL: "passed", "eager loading": "passed", "plain copies": "failed",
        "a mark per op": "failed",
    }  # fmt: skip
    assert "with eager loading: passed" in whole.said
    assert whole.files["loading/00-step.log"] == "loading \n"
    assert whole.files["loading/eager-loading/00-step.log"] == "loading EAGER\n"
    assert "variants" not in whole.steps["below"]["data"] and "variants" not in whole.steps["refused"]["data"]
    assert whole.steps["below"]["verdict"] == "failed" and whole.status == 1


# -- the held context ------------------------------------------------------------------------------


def test_a_context_is_held_from_the_first_step_on_that_needs_a_gpu(whole: SimpleNamespace) -> None:
    """Not before: the preflight measures a GPU that nobody holds."""
    told = [line for line in whole.said.splitlines() if line.startswith(("step:", "held:", "let go"))]
    assert told == ["step: below", "held: /a/libcuda.so", "step: fine", "step: loading", "step: refused", "let go"]


#: A child that is kept, and one that is not, when a step's processes are ended; then all are.
KEEPS = """
import subprocess, sys
from gpu import children
waits = [sys.executable, "-c", "print(flush=True); import sys; sys.stdin.read(); import time; time.sleep(600)"]
started = [subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
for one in started:
    one.stdout.readline()
children.keep(started[0].pid)
children.end_all()
print([one.poll() is None for one in started], flush=True)
if sys.argv[1] == "let go":
    children.keep(0)
    children.end_all()
    print([one.poll() is None for one in started], flush=True)
else:
    started[0].kill()
    started[0].stdout.read()
    while children._kept:
        children.end_all()
    print("its number is anybody's")
"""


@pytest.mark.parametrize(("how", "said"), [("let go", "[False, False]"), ("dies", "its number is anybody's")])
def test_a_process_that_is_kept_outlives_steps_and_not_the_check(how: str, said: str) -> None:
    mark = new_mark()
    done = subprocess.run(
        [sys.executable, "-c", KEEPS, how], capture_output=True, text=True, timeout=90, check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), MARK: mark},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["[True, False]", said]
    assert not marked_processes(mark)


def test_a_gpu_that_takes_one_process_only_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    class Exclusive:
        def __init__(self, _: str) -> None:
            pass

        def __call__(self, *_: Any) -> None:
            pass

        def number(self, name: str, *_: Any) -> int:
            return 3 if name == "cuDeviceGetAttribute" else 0

    monkeypatch.setattr(machine, "Driver", Exclusive)
    with pytest.raises(ValueError, match="compute mode is 3"):
        machine.held_context({"driver": "d"})


# -- rehearsals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rehearsal", "verdict", "reason", "good"),
    [
        (True, results.NOT_RUN, "the software device has no driver", True),
        (True, results.NOT_RUN, "no torch: stand-ins run no kernels (found by the step environment)", True),
        (True, results.NOT_RUN, results.TIME_OVER, False),
        (True, results.NOT_RUN, results.NOT_REACHED, False),
        (True, results.NOT_RUN, f"{results.RUNNING}: SIGTERM", False),
        (True, results.FAILED, "the software device has no driver", False),
        (False, results.NOT_RUN, "not installed: cupy", False),
    ],
)
def test_what_cannot_be_rehearsed_does_not_fail_a_rehearsal(
    tmp_path: Path, rehearsal: bool, verdict: str, reason: str, good: bool
) -> None:
    found = results.Results(tmp_path, "", rehearsal)
    found.add("costs", verdict, reason)
    assert found.good(["costs"]) is good


def test_stand_ins_say_what_they_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = importlib.import_module("gpu.steps.machine")
    monkeypatch.setattr(environment, "_COMMANDS", ())
    monkeypatch.setattr(environment, "_asked", lambda lab, what, *_: "")
    found = results.Results(tmp_path, "", rehearsal=True)
    verdict, reason = step.run(place := Lab(tmp_path, stand_ins=True), environment.__name__, "environment")
    found.add("environment", verdict, reason, data=place.data)
    assert found.good(["environment"])
    assert found.lack((plan.TORCH,)).startswith("no torch: stand-ins")


# -- probes ----------------------------------------------------------------------------------------


def test_a_library_that_is_missing_does_not_keep_a_probe_from_its_variable() -> None:
    def use(*_: Any) -> None:
        raise OSError("no such file")

    assert modules._tried(use, lambda _: None, "nowhere") == "OSError: no such file"  # type: ignore[arg-type]
    assert modules._tried(lambda *_: None, lambda _: None, "here") == "used"  # type: ignore[arg-type]

"""The check on a GPU, without one: its results, verdicts, limits, evidence, and that nothing of it stays behind."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gpu import children, evidence, jobs, lab, plan, results, step
from gpu.lab import Lab, StepFailed, StepNotRun, StepSlow
from gpu.preflight import libraries, ptx
from gpu.steps import fault_verdict, networks, timing
from toolkit.leaks import MARK, marked_processes, new_mark
from toolkit.waiting import until

ROOT = Path(__file__).resolve().parents[2]
TIMES = {"native": 0.1, "proxied": 0.104}
RECOVERY = {
    "cause": "worker-death",
    "outcome": "recovered",
    "seconds": 1.25,
    "phases": {"detect": 0.05, "decide": 0.0, "replay": 1.2},
}


# -- results --------------------------------------------------------------------------------------


def filled(folder: Path) -> results.Results:
    found = results.Results(folder, "c0ffee", rehearsal=False)
    found.plan(("preflight", "one_rank", "killed_worker", "operators", "fft"), plan.NAMES)
    found.write()
    found.add("preflight", results.PASSED, "", 3.14159, {"gpu": "NVIDIA H200", "figures": {"context s": 0.25}})
    times = {"gpu-bound": {"median": TIMES, "ratio": 1.04, "goal": 1.05, "goal_met": True}}
    times["large"] = {"mean": TIMES, "ratio": 1.04}
    found.add("one_rank", results.SLOW, "launch-bound 3 (goal 1.5)", 60, {"times": times})
    found.add("killed_worker", results.PASSED, "", 20, {"identity": "identical", "recoveries": [RECOVERY]})
    found.add("operators", results.FAILED, "1 of 2 failed, first sort: no\nand more", 9, {"passed": 1, "failed": 1})
    return found


def test_results_are_there_before_and_after_every_step(tmp_path: Path) -> None:
    found = filled(tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == [f"{found.document['date']}-unknown.json"]
    found.write()
    (path,) = (tmp_path / "new").iterdir()  # named anew, nothing else is left
    assert path == found.path and path.name == f"{found.document['date']}-nvidia-h200.json"
    document = json.loads(path.read_text())
    assert [one["verdict"] for one in document["steps"]] == ["passed", "slow", "passed", "failed", "not run"]
    assert document["steps"][4]["reason"] == results.NOT_REACHED
    assert document["steps"][0]["seconds"] == 3.1
    assert (document["complete"], document["commit"], document["gpu"]) == (False, "c0ffee", "NVIDIA H200")
    found.write(complete=True)
    assert json.loads(path.read_text())["complete"]
    assert found.good(["preflight", "killed_worker"])
    assert not found.good(["preflight", "one_rank"]) and not found.good(["fft"])


def test_table(tmp_path: Path) -> None:
    found = filled(tmp_path)
    found.said({"jitc: a": 1, "jitc: b": 7})
    lines = found.text().splitlines()
    assert lines[0].split() == ["step", "verdict", "s", "figures"]
    assert lines[1].endswith("3.1  context s 0.25")
    assert lines[2].split()[1] == "SLOW"
    assert lines[2].endswith(
        "gpu-bound 100.0 -> 104.0 ms (1.040); large 100.0 -> 104.0 ms (1.040, means); launch-bound 3 (goal 1.5)"
    )
    assert lines[3].endswith("identical; worker-death: recovered in 1.25 s (detect 0.05, replay 1.20)")
    assert lines[4].split()[:2] == ["operators", "FAILED"]
    assert lines[4].endswith("1 of 2; 1 of 2 failed, first sort: no")
    assert lines[6:] == ["said by jitc: 2 different lines", "  7 x jitc: b", "  1 x jitc: a"]


def test_steps_that_run_again_are_merged_into_the_earlier_file(tmp_path: Path) -> None:
    filled(tmp_path).write(complete=True)
    earlier = results.newest(tmp_path)
    assert earlier is not None
    again = results.Results(tmp_path, "beef", rehearsal=False, earlier=results.read(earlier))
    again.plan(("preflight", "one_rank", "operators", "cupy"), ["operators"])
    again.add("operators", results.PASSED)
    steps = {one["name"]: (one["verdict"], one["commit"]) for one in again.document["steps"]}
    assert steps == {
        "preflight": ("passed", "c0ffee"), "one_rank": ("slow", "c0ffee"), "operators": ("passed", "beef"),
        "cupy": ("not run", "beef"),
    }  # fmt: skip
    assert again.path == earlier
    (tmp_path / "other.json").write_text('{"schema": 1}')
    with pytest.raises(ValueError, match="no results file of this check"):
        results.read(tmp_path / "other.json")


def test_what_an_earlier_step_lacked_keeps_others_from_running(tmp_path: Path) -> None:
    found = results.Results(tmp_path, "", rehearsal=False)
    found.add("environment", results.FAILED, "no PyTorch", data={"lacks": {plan.TORCH: "it does not compute"}})
    assert found.lack((plan.GPU, plan.TORCH)) == "no torch: it does not compute (found by the step environment)"
    assert not found.lack((plan.GPU, plan.JITC))


# -- evidence -------------------------------------------------------------------------------------


def members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as packed:
        found = {one.name: packed.extractfile(one) for one in packed.getmembers()}
        return {name: content.read() for name, content in found.items() if content}


def test_evidence_is_kept_whole_or_says_where_it_was_cut(tmp_path: Path) -> None:
    kept = evidence.Evidence()
    folder = kept.step("one")
    (folder / "short.log").write_text("all of it\n")
    (folder / "long.log").write_bytes(b"head" + b"." * evidence.WHOLE + b"tail")
    kept.pack(tmp_path / "e.tar.gz")
    kept.close()
    assert not folder.exists()
    found = members(tmp_path / "e.tar.gz")
    assert found["one/short.log"] == b"all of it\n"
    long = found["one/long.log"]
    assert long.startswith(b"head") and long.endswith(b"tail") and b"\n... 8 bytes left out ...\n" in long


def test_evidence_fits_in_what_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "LIMIT", 64 << 10)
    kept = evidence.Evidence()
    folder = kept.step("one")
    for number in range(4):
        (folder / f"{number}.log").write_bytes(os.urandom(100 << 10))
    kept.pack(tmp_path / "e.tar.gz")
    kept.close()
    assert (tmp_path / "e.tar.gz").stat().st_size <= 64 << 10
    assert sorted(members(tmp_path / "e.tar.gz")) == [f"one/{number}.log" for number in range(4)]


def test_evidence_of_an_earlier_run_stays(tmp_path: Path) -> None:
    archive = tmp_path / "e.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for name in ("one/a.log", "two/a.log", "../escaped.log"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            packed.addfile(entry, io.BytesIO(b"old"))
    kept = evidence.Evidence()
    kept.take_over(tmp_path / "nothing.tar.gz")
    kept.take_over(archive)
    (kept.step("two") / "b.log").write_text("new")
    kept.pack(archive)
    kept.close()
    assert members(archive) == {"one/a.log": b"old", "two/b.log": b"new"}


# -- processes ------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path, seconds=60)
    yield made
    made.close()


def python(place: Lab, name: str, code: str) -> lab.Program:
    return place.start(name, [sys.executable, "-c", code], dict(os.environ))


def test_a_program_that_does_not_answer(tmp_path: Path) -> None:
    place = Lab(tmp_path, seconds=0.5)
    silent = python(place, "silent", "import time; time.sleep(600)")
    with pytest.raises(StepFailed, match="no answer in time: silent"):
        silent.answer()
    with pytest.raises(StepFailed, match="time is over"):
        silent.answer()
    place.close()
    assert silent.process.returncode is not None


def test_what_programs_say_is_kept(place: Lab) -> None:
    talker = python(
        place, "talker", "import sys; print('jitc: x is not supported', file=sys.stderr); print('{}'); sys.exit(3)"
    )
    assert talker.answer() == {}
    with pytest.raises(StepFailed, match="talker ended with 3: jitc: x is not supported"):
        talker.answer()
    assert dict(place.said()) == {"jitc: x is not supported": 1}
    assert (place.folder / "01-talker.log").read_text() == "jitc: x is not supported\n"


def test_a_rank_that_ends_ends_the_waiting_for_all(place: Lab) -> None:
    """Not at the end of the step's time, and with what that rank said."""
    waits = "import sys, time; print('{}', flush=True); sys.stdin.readline(); time.sleep(600)"
    dies = (
        "import sys; print('{}', flush=True); sys.stdin.readline(); print('no such GPU', file=sys.stderr); sys.exit(7)"
    )
    ranks = [python(place, f"rank-{at}", code) for at, code in enumerate((waits, dies))]
    service = python(place, "service", "import time; time.sleep(600)")
    job = jobs.Job(place, ranks, SimpleNamespace(program=service))  # type: ignore[arg-type]
    assert job.answers() == [{}, {}]
    with pytest.raises(StepFailed, match=r"^rank-1 ended with 7: no such GPU$"):
        job.ask(do="train")
    service.process.kill()
    with pytest.raises(StepFailed, match="service ended with -9"):
        jobs.Job(place, ranks[:1], SimpleNamespace(program=service)).ask(do="train")  # type: ignore[arg-type]


#: Runs `children.run` in a process of its own, since it ends all that is below it: argv are the limit and the child.
RUNS = """
import os, pathlib, sys
from gpu import children
children.adopt_orphans()
ended = children.run([sys.executable, *sys.argv[2:]], float(sys.argv[1]), os.environ, pathlib.Path("log"))
print(list(ended.left), ended.text())
"""
#: Leaves a process behind that is in a session of its own and has lost its parent; then it ends, or does not.
LEAVES = """
import subprocess, sys, time
sleeps = "print(flush=True); import time; time.sleep(600)"
starts = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleeps!r}], start_new_session=True)"
started = subprocess.Popen([sys.executable, "-c", starts], stdout=subprocess.PIPE)
started.stdout.readline()
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("limit", "naps", "said"),
    [("60", "0", "[] its process ended with exit status 0"), ("1", "600", "[] did not end in 1 s and was killed")],
)
def test_what_a_child_started_ends_with_it(tmp_path: Path, limit: str, naps: str, said: str) -> None:
    mark = new_mark()
    (tmp_path / "leaves.py").write_text(LEAVES)
    done = subprocess.run(
        [sys.executable, "-c", RUNS, limit, "leaves.py", naps], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), MARK: mark}, timeout=90, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == said, done
    assert not marked_processes(mark)


def test_programs_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    mark = new_mark()
    code = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import gpu.programs, time; print(1, flush=True); time.sleep(600)'])\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), MARK: mark},
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"1\n"
    assert len(marked_processes(mark)) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not marked_processes(mark), 20, "the program has ended with its parent")


def test_descendants() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    assert child.pid in children.descendants(os.getpid())
    child.kill()
    until(lambda: child.pid not in children.descendants(os.getpid()), 20, "a zombie is none")
    child.wait()


# -- steps ----------------------------------------------------------------------------------------


def good(_: Lab) -> dict[str, Any]:
    return {"fine": True}


def bad(_: Lab) -> dict[str, Any]:
    raise StepFailed("no such luck", {"known": 1})


def worse(place: Lab) -> dict[str, Any]:
    place.note(known=2)
    raise ZeroDivisionError("by nothing")


def late(_: Lab) -> dict[str, Any]:
    raise StepSlow("3 times")


def absent(_: Lab) -> dict[str, Any]:
    raise StepNotRun("there is no such thing")


@pytest.mark.parametrize(
    ("name", "verdict", "reason", "data"),
    [
        ("good", "passed", "", {"fine": True}),
        ("bad", "failed", "no such luck", {"known": 1}),
        ("worse", "failed", "ZeroDivisionError: by nothing (test_gpu_check.py:", {"known": 2}),
        ("late", "slow", "3 times", {}),
        ("absent", "not run", "there is no such thing", {}),
        ("nowhere", "failed", "AttributeError", {}),
    ],
)
def test_every_end_of_a_step_is_a_verdict(place: Lab, name: str, verdict: str, reason: str, data: Any) -> None:
    found, why = step.run(place, __name__, name)
    assert (found, place.data) == (verdict, data)
    assert why.startswith(reason) and bool(why) == bool(reason)


#: Steps that take their process with them, and the check that has them for its plan.
RUINOUS = """
import os, time
def hangs(lab):
    lab.note(known=1)
    time.sleep(600)
def crashes(lab):
    (lab.scratch() / "left").write_text("by a step that nobody asks to tidy up")
    os.abort()
def fine(lab):
    return {"known": 2}
"""
CHECKS = """
import sys
from gpu import check, plan
plan.PLAN = tuple(plan.Step(name, "ruinous", 5, (), 1) for name in ("hangs", "crashes", "fine"))
plan.NAMES = tuple(step.name for step in plan.PLAN)
check.GRACE_SECONDS = 1
sys.exit(check.main(sys.argv[1:]))
"""


def test_a_step_that_ruins_its_process_is_recorded_and_the_next_one_runs(tmp_path: Path) -> None:
    (tmp_path / "ruinous.py").write_text(RUINOUS)
    path, temporary = tmp_path / "out" / "r.json", tmp_path / "t"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, "--out", str(path)], capture_output=True, text=True, timeout=90, check=False,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'tests'}:{tmp_path}", "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert list(temporary.iterdir()) == []
    document = json.loads(path.read_text())
    found = [(one["verdict"], one["reason"], one["data"]) for one in document["steps"]]
    assert (done.returncode, document["complete"], len(found)) == (1, True, 3), done
    assert found[0] == ("failed", "did not end in 6 s and was killed", {"known": 1})
    assert found[1][0] == "failed" and found[1][1].startswith("its process ended with signal 6")
    assert found[2] == ("passed", "", {"known": 2})


@pytest.mark.parametrize("one", plan.PLAN, ids=plan.NAMES)
def test_every_step_of_the_plan_is_there(one: plan.Step) -> None:
    assert getattr(importlib.import_module(one.module), one.name).__doc__


def test_limits_come_from_what_is_left() -> None:
    first, second, third = (plan.Step(name, "m", most, least=20) for name, most in (("a", 60), ("b", 90), ("c", 90)))
    assert first.limit(500, (second, third)) == 60
    assert first.limit(70, (second, third)) == 30  # 20 are kept for each of the others
    assert first.limit(50, (second, third)) == 20  # its own, even so
    assert third.limit(12, ()) == 12
    assert sum(one.least for one in plan.PLAN) <= 9 * 60
    assert len(set(plan.NAMES)) == len(plan.NAMES)


def test_libraries_are_those_of_the_service() -> None:
    assert libraries.path("nccl", ("--gpus", "1", "--nccl=/a/libnccl.so")) == "/a/libnccl.so"
    assert libraries.path("nccl", ("--nccl", "/b/libnccl.so")) == "/b/libnccl.so"
    assert libraries.path("driver", ("--nccl=/a",)) == "libcuda.so.1"


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("kernels", ["EMPTY", "ENDLESS", "VARIABLE", "ARITHMETIC"])
def test_the_kernels_are_good_ptx(tmp_path: Path, kernels: str, gpu: str) -> None:
    """NVIDIA's own translator takes them."""
    folders = [Path(folder) / "triton" / "backends" / "nvidia" / "bin" / "ptxas" for folder in sys.path]
    ptxas = next((str(one) for one in folders if one.exists()), shutil.which("ptxas"))
    if ptxas is None:
        pytest.skip("there is no ptxas (pip install triton)")
    (tmp_path / "k.ptx").write_text(getattr(ptx, kernels))
    command = [ptxas, f"--gpu-name={gpu}", "k.ptx", "-o", "k.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# -- what is compared ------------------------------------------------------------------------------


def answers(loss: float, state: str = "s") -> jobs.Answers:
    return [{"losses": [loss.hex()], "state": state}]


@pytest.mark.parametrize(
    ("other", "repeatable", "wrong", "text"),
    [
        (answers(2.0), True, "", "identical to the last bit"),
        (answers(2.001), True, "losses or state differ", "DIFFERENT"),
        (answers(2.0, "t"), True, "losses or state differ (losses by 0)", "DIFFERENT"),
        (answers(2.001), None, "the step control has not shown", "DIFFERENT"),
        (answers(2.001), False, "", "not judged: native runs differ too"),
        (answers(3.0), False, "losses or state differ", "not judged"),
        (answers(float("nan")), False, "losses or state differ", "not judged"),
    ],
)
def test_identity_is_judged_where_native_runs_are_equal(
    tmp_path: Path, other: jobs.Answers, repeatable: bool | None, wrong: str, text: str
) -> None:
    known = {"control": {"repeatable": {"small x1": repeatable}}} if repeatable is not None else {}
    found = jobs.compare(Lab(tmp_path, known=known), "small", answers(2.0), other)
    assert wrong in found.wrong() and bool(found.wrong()) == bool(wrong)
    assert text in found.text()


def test_fault_verdicts() -> None:
    assert fault_verdict([], "") == "the fault did not fire, or nobody noticed"
    assert fault_verdict([RECOVERY], "") == ""
    assert fault_verdict([RECOVERY], "x differs") == "recovered, but x differs"
    assert fault_verdict([RECOVERY | {"outcome": "given up: why"}], "") == "given up: why"
    assert fault_verdict([RECOVERY | {"outcome": "recovered, not bit-identical"}], "") == ""


def test_a_fault_that_is_taken_for_another_one() -> None:
    assert fault_verdict([RECOVERY], "", "endless-kernel") == "the cause is worker-death, not hung-kernel"
    assert fault_verdict([RECOVERY | {"cause": "xid, sticky-error"}], "", "illegal-access") == ""
    assert fault_verdict([RECOVERY | {"cause": "hung-collective"}], "", "hung-collective") == ""


class Answering:
    """In place of a job: what it says to each request."""

    def __init__(self, cudnn: int | None, **losses: float) -> None:
        self.programs, self._losses = [SimpleNamespace(greeting={"cudnn": cudnn})], losses

    def ask(self, **request: Any) -> jobs.Answers:
        if request["do"] == "time":
            return [{"seconds": self._losses.get(request["setting"], 0.25)}]
        return answers(self._losses.get(request["setting"], 2.0))


class Serving:
    """In place of a service: every fault is recovered, but for the first ones, which nobody notices."""

    def __init__(self, unnoticed: int = 0) -> None:
        self._left, self._recoveries, self._boundaries = unnoticed, list[dict[str, Any]](), 0

    def boundary(self) -> int:
        return 7

    def said(self) -> str:
        return "jitc-proxyd: job 1: one of 4 boundaries is made"

    def inject(self, kind: str, at: str) -> None:
        assert (kind, at) == ("kill-worker", "boundary=9,phase=backward,skip=5")
        self._recoveries += [RECOVERY] if not self._left else []
        self._left = max(0, self._left - 1)

    def recoveries(self) -> list[dict[str, Any]]:
        return list(self._recoveries)

    def workers(self) -> list[dict[str, Any]]:
        """A boundary since it was asked last."""
        self._boundaries += 1
        phases = {"boundaries": self._boundaries, "seconds": {"copy": 0.25 * self._boundaries}}
        return [{"sessions": [{"boundary_phases": phases}]}]


@pytest.mark.parametrize(
    ("proxied", "unnoticed", "wrong"),
    [
        (Answering(9), 0, ""),
        (Answering(None), 0, "the service has no libcudnn"),
        (Answering(8), 0, "PyTorch does not use the cuDNN"),
        (Answering(9, lstm=4.0), 0, "lstm: without a fault: losses or state differ"),
        (Answering(9), 1, "convnet: the fault did not fire"),
    ],
)
def test_the_check_of_cudnn(
    place: Lab, monkeypatch: pytest.MonkeyPatch, proxied: Answering, unnoticed: int, wrong: str
) -> None:
    serving = Serving(unnoticed)
    monkeypatch.setattr(networks, "Service", lambda *_: contextlib.nullcontext(serving))
    monkeypatch.setattr(networks, "start", lambda lab, program, ranks, side: proxied if side else Answering(9))
    verdict, reason = step.run(place, networks.__name__, "convnet")
    absent = wrong.startswith("the service has no")
    assert verdict == (results.NOT_RUN if absent else results.FAILED if wrong else results.PASSED)
    assert reason.startswith(wrong)
    if not wrong or ":" in wrong:  # one that is wrong does not keep the others from running
        assert len(place.data["recoveries"]) == 3 - unnoticed and len(place.data["cases"]) == 3


def test_a_missed_goal_is_slow_and_not_failed(place: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = {True: Answering(9, **{"launch-bound": 1.0}), False: Answering(9)}
    monkeypatch.setattr(timing, "Service", lambda *_: contextlib.nullcontext(Serving()))
    monkeypatch.setattr(timing, "start", lambda lab, program, ranks, side: sides[side is not None])
    with pytest.raises(StepSlow, match=r"against native: launch-bound 4.000 \(goal 1.5\)$"):
        timing.one_rank(place)
    assert place.data["times"]["gpu-bound"]["goal_met"]
    timed = {"count": 1, "seconds": {"copy": 0.25}}
    assert place.data["boundaries"]["gpu-bound"] == {"proxied": timed, "every boundary": timed}
    assert place.data["figures"] == {"boundaries timed": "gpu-bound 1/1, launch-bound 1/1"}


# -- the bundle's own -------------------------------------------------------------------------------


def test_version_checks_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    bundle = importlib.import_module("gpu_bundle")
    for name in ("control_pb2.py", "control_pb2_grpc.py"):
        text = (ROOT / "protos" / "jitc" / "v1" / name).read_text()
        lean = bundle.without_version_checks(text)
        assert lean != text
        assert "ValidateProtobufRuntimeVersion" not in lean
        assert "raise RuntimeError" not in lean
        compile(lean, name, "exec")


def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "gpu_check.py"), "--out", str(tmp_path)]
    for more, words in (
        (("--steps", "operators,nonsense"), "there is no step 'nonsense'"),
        (("--steps", "missing", "--from", str(tmp_path / "none.json")), "No such file"),
    ):
        done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

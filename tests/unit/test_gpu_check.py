"""The check on a GPU, without one: its results, limits, what it carries; that it says so when there is no GPU."""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TIMES = {"native": 0.1, "proxied": 0.104}
RECOVERY = {
    "cause": "worker-death",
    "outcome": "recovered",
    "seconds": 1.25,
    "phases": {"detect": 0.05, "decide": 0.0, "replay": 1.2},
}


@pytest.fixture(scope="module")
def parts() -> Iterator[Callable[[str], Any]]:
    """Modules of bench/ and scripts/, which are no packages."""
    added = [str(ROOT / "bench"), str(ROOT / "scripts")]
    sys.path[:0] = added
    yield importlib.import_module
    sys.path[:] = [one for one in sys.path if one not in added]


def filled(parts: Any, folder: Path) -> Any:
    results = parts("gpu_report").Results(None, folder, rehearsal=False, commit="c0ffee")
    results.add("environment", 3.14159, "", {"jitc": {"gpus": [{"name": "NVIDIA H200"}]}})
    times = {"gpu-bound": {"median": TIMES, "ratio": 1.04, "goal": 1.05, "goal_met": True}}
    results.add("one_rank", 60, "", {"losses_identical": True, "state_identical": True, "times": times})
    results.add("killed_worker", 20, "", {"losses_identical": True, "state_identical": True, "recoveries": [RECOVERY]})
    results.add("operators", 9, "1 of 2 failed, first sort: no\nand more", {"passed": 1, "failed": 1})
    return results


def test_results_are_there_after_every_step(parts: Any, tmp_path: Path) -> None:
    results = filled(parts, tmp_path / "new")
    results.write({"jitc: cudaFoo is not supported": 3})
    (path,) = (tmp_path / "new").iterdir()
    assert path.name == f"{results.document['date']}-nvidia-h200.json"
    document = json.loads(path.read_text())
    assert [step["name"] for step in document["steps"]] == ["environment", "one_rank", "killed_worker", "operators"]
    assert (document["schema"], document["complete"], document["commit"], document["gpu"]) == (
        1,
        False,
        "c0ffee",
        "NVIDIA H200",
    )
    assert document["steps"][0]["seconds"] == 3.1
    assert not document["steps"][3]["ok"]
    results.write({}, complete=True)
    assert json.loads(path.read_text())["complete"]
    assert not results.passed()


def test_passed_means_complete_and_all_good(parts: Any, tmp_path: Path) -> None:
    results = parts("gpu_report").Results(tmp_path / "one.json", tmp_path, rehearsal=True, commit="")
    results.add("environment", 1, "", {})
    assert not results.passed()
    results.write({}, complete=True)
    assert results.passed()
    assert (tmp_path / "one.json").exists()


def test_table(parts: Any, tmp_path: Path) -> None:
    results = filled(parts, tmp_path)
    results.write({"jitc: a": 1, "jitc: b": 7})
    lines = parts("gpu_report").table(results.document).splitlines()
    assert lines[0].split() == ["step", "result", "s", "figures"]
    assert "identical to the last bit; gpu-bound 100.0 -> 104.0 ms (1.040)" in lines[2]
    assert lines[3].endswith("worker-death: recovered in 1.25 s (detect 0.05, replay 1.20)")
    assert lines[4].split()[:2] == ["operators", "FAILED"]
    assert lines[4].endswith("1 of 2; 1 of 2 failed, first sort: no")
    assert lines[5:] == ["said by jitc: 2 different lines", "  7 x jitc: b", "  1 x jitc: a"]


def test_a_program_that_does_not_answer(parts: Any, tmp_path: Path) -> None:
    lab_module = parts("gpu_lab")
    lab = lab_module.Lab(tmp_path)
    with lab.step(0.5):
        silent = lab.program(
            "-c", "import sys, time; print('jitc: x is not supported', file=sys.stderr); time.sleep(600)"
        )
        before = time.monotonic()
        with pytest.raises(lab_module.StepFailed, match="no answer in time"):
            silent.answer()
        with pytest.raises(lab_module.StepFailed, match="time is over"):
            silent.answer()
    assert time.monotonic() - before < 60
    assert silent.process.returncode is not None


def test_what_programs_say_is_kept(parts: Any, tmp_path: Path) -> None:
    lab_module = parts("gpu_lab")
    lab = lab_module.Lab(tmp_path)
    with lab.step(60):
        talker = lab.program("-c", "import sys; print('jitc: x is not supported', file=sys.stderr); sys.exit(3)")
        with pytest.raises(lab_module.StepFailed, match="ended with 3: jitc: x is not supported"):
            talker.answer()
    assert dict(lab.refused) == {"jitc: x is not supported": 1}


def test_a_failing_step_does_not_stop_the_others(parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check, steps, lab_module = parts("gpu_check"), parts("gpu_steps"), parts("gpu_lab")

    def bad(_: Any) -> dict[str, Any]:
        raise lab_module.StepFailed("no such luck", {"known": 1})

    def worse(_: Any) -> dict[str, Any]:
        raise ZeroDivisionError

    def good(_: Any) -> dict[str, Any]:
        return {"fine": True}

    monkeypatch.setattr(steps, "STEPS", ((bad, 5), (worse, 5), (good, 5)))
    results = parts("gpu_report").Results(tmp_path / "r.json", tmp_path, rehearsal=True, commit="")
    check.run(lab_module.Lab(tmp_path), results, set(), 60)
    one, two, three = json.loads((tmp_path / "r.json").read_text())["steps"]
    assert (one["error"], one["data"]) == ("no such luck", {"known": 1})
    assert two["error"] == "ZeroDivisionError"
    assert three["ok"]


def test_without_libcudnn_its_check_is_skipped(parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that is not there serves none either: the program that asks is a real one."""
    check, lab_module = parts("gpu_check"), parts("gpu_lab")
    lab = lab_module.Lab(tmp_path)
    nowhere = SimpleNamespace(socket=str(tmp_path / "nowhere"))
    monkeypatch.setattr(lab, "service", lambda *_: contextlib.nullcontext(nowhere))
    results = parts("gpu_report").Results(tmp_path / "r.json", tmp_path, rehearsal=False, commit="")
    check.run(lab, results, {"convnet"}, 60)
    assert results.passed()
    (step,) = results.document["steps"]
    assert step["skipped"].startswith("the service has no libcudnn")
    assert parts("gpu_report").table(results.document).splitlines()[1].split()[:2] == ["convnet", "skipped"]


class Answering:
    """In place of a program: what it says to each request."""

    def __init__(self, cudnn: int, **losses: str) -> None:
        self.greeting, self._losses = {"cudnn": cudnn}, losses

    def tell(self, **request: Any) -> None:
        loss = self._losses.get(request["setting"], "0x1p+1")
        train = {"losses": [loss], "state": loss}
        self._answer = train if request["do"] == "train" else {"seconds": 0.25}

    def answer(self) -> dict[str, Any]:
        return self._answer


class Serving:
    """In place of a lab and of its service: every fault is recovered, but for those that are left."""

    rehearsal = False

    def __init__(self, unnoticed: int = 0) -> None:
        self._left, self._recoveries = unnoticed, list[dict[str, Any]]()

    def service(self, *_: str) -> contextlib.AbstractContextManager[Serving]:
        return contextlib.nullcontext(self)

    def program(self, *_: str, service: Serving) -> SimpleNamespace:
        return SimpleNamespace(line=lambda seconds: "1")

    def boundary(self, gpu: int) -> int:
        return 7

    def command(self, *words: str) -> None:
        assert words[-1].startswith("boundary=9,phase=backward")
        self._recoveries += [RECOVERY] if not self._left else []
        self._left = max(0, self._left - 1)

    def recoveries(self) -> list[dict[str, Any]]:
        return list(self._recoveries)


@pytest.mark.parametrize(
    ("proxied", "unnoticed", "wrong"),
    [
        (Answering(9), 0, ""),
        (Answering(8), 0, "PyTorch does not use the cuDNN"),
        (Answering(9, lstm="0x1p+2"), 0, "lstm: losses or state differ from those without"),
        (Answering(9), 1, "convnet: the fault did not fire"),
    ],
)
def test_the_check_of_cudnn(
    parts: Any, monkeypatch: pytest.MonkeyPatch, proxied: Answering, unnoticed: int, wrong: str
) -> None:
    module = parts("gpu_cudnn")
    monkeypatch.setattr(module, "start", lambda lab, ranks, service: [proxied if service else Answering(9)])
    if not wrong:
        data = module.convnet(Serving())
        assert data["losses_identical"] and len(data["recoveries"]) == len(data["times"]) == 3
        return
    with pytest.raises(parts("gpu_lab").StepFailed, match=wrong):
        module.convnet(Serving(unnoticed))


def test_version_checks_are_taken_out(parts: Any) -> None:
    bundle = parts("gpu_bundle")
    for name in ("control_pb2.py", "control_pb2_grpc.py"):
        text = (ROOT / "protos" / "jitc" / "v1" / name).read_text()
        lean = bundle.without_version_checks(text)
        assert lean != text
        assert "ValidateProtobufRuntimeVersion" not in lean
        assert "raise RuntimeError" not in lean
        compile(lean, name, "exec")


def test_without_a_gpu_it_says_so_in_one_line(tmp_path: Path) -> None:
    """A machine with a GPU is made to look like one without its Python package."""
    (tmp_path / "pynvml.py").write_text("raise ImportError('not here')\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "gpu_check.py")], env={"PYTHONPATH": str(tmp_path)}, timeout=60,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gpu-check: the cuda back end is there, but no GPU was found: ")
    assert len(done.stderr.splitlines()) == 1

"""The bundle for a machine with a GPU, run on a bare one: no jitc, the fakes for NVIDIA's libraries, the real path.

The Python is a virtual environment of its own, in which only the packages are that such a machine has. PyTorch's own
kernels cannot run on the fakes, so every step with PyTorch has to say so; the others run. Nothing here says anything
about a real GPU; what the fakes are is in tests/fakes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from gpu import plan
from toolkit.fakes import fake_calls, fake_options, fake_system
from toolkit.job import ROOT
from toolkit.leaks import MARK, marked_processes, new_mark
from toolkit.waiting import until

#: On such a machine, with what they import themselves.
PACKAGES = (
    "torch", "torchgen", "functorch", "triton", "numpy", "numpy.libs", "sympy", "mpmath", "networkx", "jinja2",
    "markupsafe", "filelock", "fsspec", "typing_extensions.py", "setuptools", "pkg_resources", "_distutils_hack",
    "grpc", "google", "pynvml.py", "nvidia",
)  # fmt: skip
DISTRIBUTIONS = ("torch", "grpcio", "protobuf", "nvidia_ml_py", "numpy", "triton")
LIBRARIES = ("nccl", "cublas", "cublaslt", "nvrtc")
#: Need no PyTorch. The last one is a job of two ranks with four kills.
WITHOUT_TORCH = ("smallest_program", "costs", "driver_job")
SECONDS = 240


def clean_python(folder: Path, without: tuple[str, ...] = ()) -> Path:
    """A virtual environment that finds links to these packages, and no other."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("PyTorch is not installed")
    installed, links = Path(spec.origin).parent.parent, folder / "packages"
    links.mkdir(parents=True)
    described = [path for name in DISTRIBUTIONS for path in installed.glob(f"{name}-*.dist-info")]
    for path in (*(installed / name for name in PACKAGES if name not in without), *described):
        if path.exists():
            (links / path.name).symlink_to(path)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (place,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    (place / "packages.pth").write_text(f"{links}\n")
    return folder / "venv" / "bin" / "python"


@dataclass
class Bench:
    """A bare machine: the bundle, a Python, an environment. Every run's processes have its mark."""

    bundle: Path
    python: Path
    env: dict[str, str]
    out: Path
    mark: str = field(default_factory=new_mark)

    def start(self, *words: str, libraries: tuple[str, ...] = LIBRARIES, **environ: str) -> subprocess.Popen[str]:
        options = fake_options(*libraries)
        told = [f"--service={name}={path}" for name, path in zip(options[::2], options[1::2], strict=True)]
        command = [str(self.python), "gpu_check.py", *told, *words]
        env = self.env | environ | {"OUT": str(self.out), MARK: self.mark}
        return subprocess.Popen(
            command, cwd=self.bundle, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )  # fmt: skip

    def run(self, *words: str, libraries: tuple[str, ...] = LIBRARIES, **environ: str) -> dict[str, Any]:
        """Its results; it has to come to its end, and to leave nothing behind but what an earlier one left."""
        before = self.left()
        process = self.start(*words, libraries=libraries, **environ)
        said, _ = process.communicate(timeout=SECONDS)
        document = self.document()
        assert document["complete"], said
        assert (process.returncode == 0) == all(
            one["verdict"] == "passed" for one in document["steps"] if not one["reason"].startswith("not asked")
        ), said
        assert not marked_processes(self.mark)
        assert self.left() == before
        return document

    def left(self) -> list[str]:
        """What is left in the folder for temporary files; pytest's own and the fakes' apart."""
        return sorted(one.name for one in Path(self.env["TMPDIR"]).glob("jitc-*"))

    def services(self) -> list[Path]:
        """Sockets of the services that run."""
        words = [command.split() for command in marked_processes(self.mark).values()]
        return [Path(one[one.index("--socket") + 1]) for one in words if "jitc.proxy.commands.proxyd" in one]

    def document(self) -> dict[str, Any]:
        (path,) = self.out.glob("*.json")
        document: dict[str, Any] = json.loads(path.read_text())
        return document

    def evidence(self) -> dict[str, str]:
        (path,) = self.out.glob("*.tar.gz")
        with tarfile.open(path) as packed:
            found = {one.name: packed.extractfile(one) for one in packed.getmembers()}
            return {name: content.read().decode() for name, content in found.items() if content}


Machine = Callable[..., Bench]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("carried") / "bundle"
    folder.mkdir()
    subprocess.run([sys.executable, str(ROOT / "scripts" / "gpu_bundle.py"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clean_python(tmp_path_factory.mktemp("python"))


@pytest.fixture
def machine(bundle: Path, python: Path, tmp_path: Path) -> Iterator[Machine]:
    """Its folder for temporary files has a short name, as on such a machine: services have their sockets there."""
    made: list[Bench] = []
    short = tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp")

    def set_up(with_gpu: bool = True, python: Path = python) -> Bench:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": short.name}
        (tmp_path / "driver").mkdir()
        env = fake_system(tmp_path / "driver", env, VARIABLES="fixed") if with_gpu else env
        made.append(Bench(bundle, python, env, tmp_path / "out"))
        return made[-1]

    yield set_up
    for bench in made:
        for pid in marked_processes(bench.mark):
            os.kill(pid, signal.SIGKILL)
    short.cleanup()


def verdicts(document: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["verdict"] for one in document["steps"]}


def step(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in document["steps"] if one["name"] == name)
    return dict(found)


def test_on_a_bare_machine(machine: Machine) -> None:
    bench = machine()
    alone = [str(bench.python), "-c", "import jitc"]
    assert b"No module named 'jitc'" in subprocess.run(alone, capture_output=True, check=False).stderr
    document = bench.run()
    found = verdicts(document)
    passed = {name for name, verdict in found.items() if verdict == "passed"}
    assert passed == {"preflight", *WITHOUT_TORCH}, document
    assert document["gpu"] == "JITC Fake GPU" and len(document["commit"].removesuffix("-dirty")) == 40
    environment = step(document, "environment")
    assert environment["verdict"] == "failed" and "PyTorch does not compute without the proxy" in environment["reason"]
    assert environment["data"]["discover"]["address_base"] == "0x200000000000"
    others = [step(document, name) for name in plan.default() if name not in (*passed, "environment")]
    assert len(others) > 15
    assert all(one["verdict"] == "not run" and one["reason"].startswith("no torch: ") for one in others)
    check_figures(document)
    check_evidence(bench.evidence())
    assert {path.suffix for path in bench.out.iterdir()} == {".json", ".gz"}


def check_figures(document: dict[str, Any]) -> None:
    probes = step(document, "preflight")["data"]["probes"]
    assert all(probe["ok"] for probe in probes.values()) and len(probes) == 14
    assert probes["addresses"]["data"]["honoured"] == 12
    assert probes["host_memory"]["data"] | {"register_seconds": 0} == {
        "device_pointer_is_host_pointer": True, "mib": 64, "register_seconds": 0, "read_by_the_gpu": True,
    }  # fmt: skip
    variables = probes["variables"]["data"]
    assert all(variables[name]["same"] for name in ("reserved_layout", "fixed_layout"))
    assert variables["after_libraries"]["as_without"]
    assert variables["after_libraries"]["used"] == {"cublas": "used", "nccl": "used"}
    for name in ("killed_process", "killed_with_host_memory", "killed_busy_process"):
        killed = probes[name]["data"]
        assert 0 < killed["pipe_closed_seconds"] < 10 and 0 < killed["pidfd_readable_seconds"] < 10
        assert (killed["host_bytes"] > 0) == (name == "killed_with_host_memory")
    assert len(probes["nccl_two_processes"]["data"]["ranks"]) == 2
    costs = step(document, "costs")["data"]
    launches = next(one["data"] for one in costs["proxied"] if one["name"] == "launches")
    assert launches["count"] == 10_000 and 0 < launches["client_us"] < launches["until_done_us"]
    assert costs["boundary_phases"][0]["boundaries"] == 8 and costs["boundary_phases"][0]["seconds"]["copy"] > 0
    job = step(document, "driver_job")["data"]
    assert job["identity"] == "native and proxied identical"
    assert [one["cause"] for one in job["recoveries"]] == ["worker-death"] * 4
    assert job["recoveries"][0]["bytes_from_peers"]["nccl"] > 0


def check_evidence(files: dict[str, str]) -> None:
    """Every process's log that is not empty, and what the service knew."""
    (report,) = (text for name, text in files.items() if name.startswith("driver_job/") and "report.json" in name)
    assert len(json.loads(report)["recoveries"]) == 4
    assert any(name.startswith("driver_job/") and name.endswith("status.json") for name in files)
    assert files["held-context/01-held.log"].startswith("the context is held\n")
    assert any("worker-death" in text for name, text in files.items() if name.endswith("-service.log"))
    assert any("step 8 of 8" in text for name, text in files.items() if "driver_job-proxied-1" in name)


def test_without_a_gpu(machine: Machine) -> None:
    document = machine(with_gpu=False).run(libraries=(), CUDA_VISIBLE_DEVICES="")
    found = verdicts(document)
    assert found["preflight"] == found["environment"] == "failed"
    assert step(document, "preflight")["reason"].startswith("no GPU: ")
    assert {verdict for name, verdict in found.items() if name not in ("preflight", "environment")} == {"not run"}
    assert step(document, "driver_job")["reason"].startswith("no gpu: ")
    assert document["gpu"] == ""


def test_a_probe_that_is_refused_and_a_library_that_is_missing(machine: Machine, tmp_path: Path) -> None:
    """Neither keeps the others from running. Without the `nvidia` packages there is no NCCL; nor has the system one."""
    bench = machine(python=clean_python(tmp_path / "less", without=("nvidia",)))
    (tmp_path / "driver" / "libnccl.so.2").unlink()
    refused = {"JITC_FAKE_FAIL": "cuStreamWriteValue64_v2:1=801", "PYTHONPATH": ""}
    document = bench.run("--steps", "preflight,driver_job", libraries=LIBRARIES[1:], **refused)
    probes = step(document, "preflight")["data"]["probes"]
    assert [name for name, probe in probes.items() if not probe["ok"]] == ["stream_words", "nccl_two_processes"]
    assert "cuStreamWriteValue64_v2 gave 801 (CUDA_ERROR_NOT_SUPPORTED)" in probes["stream_words"]["error"]
    assert "libnccl.so.2" in probes["nccl_two_processes"]["error"]
    assert all(name in step(document, "preflight")["reason"] for name in ("stream_words", "nccl_two_processes"))
    job = step(document, "driver_job")
    assert job["verdict"] == "failed" and "driver_job-proxied" in job["reason"]
    assert "libnccl.so.2" in job["data"]["native_error"]
    assert step(document, "costs")["reason"] == "not asked for (--steps)"


@pytest.mark.sampled
def test_a_step_that_hangs(machine: Machine) -> None:
    """The GPU never does what the program waits for: the step ends at its limit, and the next one runs."""
    hang = {"JITC_FAKE_FAIL": "cuMemsetD8Async:1+=hang"}
    bench = machine()
    document = bench.run("--steps", "smallest_program,driver_job", "--step-seconds", "6", **hang)
    hung = step(document, "smallest_program")
    assert (hung["verdict"], hung["reason"].partition(":")[0]) == ("failed", "no answer in time")
    assert step(document, "driver_job")["verdict"] in ("passed", "failed")  # for as much as 6 s are enough
    assert any(name.startswith("smallest_program/") and "status" in name for name in bench.evidence())


def test_a_step_that_fails_runs_again_otherwise(machine: Machine, tmp_path: Path) -> None:
    """The GPU refuses a call of every program: no variant helps, and the worker of the one that ran was told of it."""
    bench = machine()
    refused = {"JITC_FAKE_FAIL": "cuMemsetD8Async:1+=1", "JITC_FAKE_LOG": str(tmp_path / "log")}
    document = bench.run("--steps", "smallest_program", **refused)
    failed = step(document, "smallest_program")
    assert failed["verdict"] == "failed"
    found = {one["variant"]: one["verdict"] for one in failed["data"]["variants"]}
    assert found == {"blocking launches": "failed", "all others": "failed"}
    assert any(name.startswith("smallest_program/all-others/") for name in bench.evidence())
    seen = [call.args.get("environment", "") for call in fake_calls(tmp_path / "log") if call.name == "cuInit"]
    assert all(
        any(told in str(one) for one in seen) for told in ("CUDA_LAUNCH_BLOCKING=1", "CUDA_MODULE_LOADING=EAGER")
    )


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def step_of(bench: Bench, check: int) -> int:
    """The process of the step that runs; not a child of it, which has its name between fork and exec."""
    found = [pid for pid, command in marked_processes(bench.mark).items() if "gpu.step" in command.split()]
    (step,) = (pid for pid in found if Path(f"/proc/{pid}").exists() and parent_of(pid) == check)
    return step


def rank_of(bench: Bench, rank: int) -> int | None:
    """The process of a proxied rank of the job; not a child of it, which has its name between fork and exec."""
    found: dict[int, int] = {}
    for pid, command in marked_processes(bench.mark).items():
        if "gpu.programs.driver_job" not in command:
            continue
        with contextlib.suppress(OSError):  # it has ended meanwhile
            told = Path(f"/proc/{pid}/environ").read_bytes()
            if b"LD_PRELOAD=" in told and f"\0RANK={rank}\0".encode() in b"\0" + told:
                found[pid] = parent_of(pid)
    return next((pid for pid, parent in found.items() if parent not in found), None)


@pytest.mark.sampled
def test_a_rank_that_dies(machine: Machine) -> None:
    """The other one waits for it, without a limit of its own: the step ends at once, and says which."""
    bench = machine()
    process = bench.start("--steps", "driver_job", "--once")
    os.kill(until(lambda: rank_of(bench, 1), 120, "the second rank runs"), signal.SIGKILL)
    said, _ = process.communicate(timeout=SECONDS)
    job = step(bench.document(), "driver_job")
    assert bench.document()["complete"], said
    assert (process.returncode, job["verdict"]) == (1, "failed")
    assert job["reason"].startswith("driver_job-proxied-1 ended with -9")
    assert not marked_processes(bench.mark)
    assert bench.left() == []


@pytest.mark.sampled
def test_a_step_that_is_killed(machine: Machine) -> None:
    """It cannot tidy up any more: the check does, and goes on."""
    bench = machine()
    process = bench.start("--steps", "driver_job,smallest_program", "--once")
    until(lambda: rank_of(bench, 0), 120, "a step runs with a service")
    assert bench.services() and all(path.is_relative_to(bench.env["TMPDIR"]) for path in bench.services())
    os.kill(step_of(bench, process.pid), signal.SIGKILL)
    said, _ = process.communicate(timeout=SECONDS)
    found = {one["name"]: one for one in bench.document()["steps"]}
    assert bench.document()["complete"], said
    ended = [one for one in found.values() if one["reason"].startswith("its process ended with signal 9")]
    assert [one["verdict"] for one in ended] == ["failed"]
    assert sum(one["verdict"] == "passed" for one in found.values()) == 1
    assert not marked_processes(bench.mark)
    assert bench.left() == []


@pytest.mark.sampled
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_check_that_is_killed(machine: Machine, number: signal.Signals) -> None:
    """The file has what was done, and says where it ended; nothing is left of it. Then the rest is run and merged."""
    bench = machine()
    process = bench.start("--steps", "smallest_program,driver_job")
    until(lambda: rank_of(bench, 0), 120, "the second step runs")
    assert sum("held_context" in command.split() for command in marked_processes(bench.mark).values()) == 1
    process.send_signal(number)
    process.communicate(timeout=60)
    until(lambda: not marked_processes(bench.mark), 30, "everything has ended with it")
    document = bench.document()
    assert not document["complete"]
    assert step(document, "smallest_program")["verdict"] == "passed"
    killed = step(document, "driver_job")
    assert killed["verdict"] == "not run"
    assert killed["reason"].startswith("the check was ended while this step ran")
    if number == signal.SIGTERM:
        assert bench.left() == []
        assert killed["reason"].endswith("SIGTERM")
        assert any(name.startswith("driver_job/") for name in bench.evidence())
        return
    # Nobody could clean up after SIGKILL; what the next check makes is gone with it.
    again = bench.run("--steps", "driver_job")
    assert verdicts(again)["smallest_program"] == verdicts(again)["driver_job"] == "passed"
    kept = bench.evidence()
    assert all(any(name.startswith(f"{one}/") for name in kept) for one in ("smallest_program", "driver_job"))

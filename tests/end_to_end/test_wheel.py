"""The wheel, as somebody has it who has no checkout: installed, run, with parts of it missing or broken, and with a
PyTorch for which it has no native part."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import grpc
import pytest
from toolkit import debian
from toolkit.tree import ROOT
from toolkit.wheel import environment, installed, made

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
#: The release that the tests run with, for which the wheel has a part.
STEPS = "4"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    return made(tmp_path_factory.mktemp("dist"), torch.__version__.split("+")[0])


@pytest.fixture
def programs(tmp_path: Path, wheel: Path) -> Path:
    return installed(tmp_path / "venv", wheel)


def packages(programs: Path) -> Path:
    (found,) = programs.parent.glob("lib/python3.*/site-packages")
    return found / "jitc"


def run(*command: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(one) for one in command], cwd="/", env=environment(**environ), capture_output=True, text=True,
        timeout=900, check=False,
    )  # fmt: skip


def demo(programs: Path, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    done = run(programs / "jitc", "demo", "--steps", STEPS, "--json", folder / "demo.json", **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((folder / "demo.json").read_text())["identical"]
    return done


def test_the_demo(programs: Path, tmp_path: Path) -> None:
    version = run(programs / "jitc", "version")
    assert version.returncode == 0 and version.stdout.startswith("jitc ")
    assert run(programs / "python", "-m", "jitc", "version").stdout == version.stdout
    preload = Path(run(programs / "jitc", "preload-path").stdout.strip())
    assert preload == packages(programs) / "interpose" / "lib" / "libjitc_interpose.so"
    done = demo(programs, tmp_path, JITC_CACHE=str(tmp_path / "cache"), CXX="none")
    assert "builds" not in done.stderr and not (tmp_path / "cache").exists(), "the part came with the wheel"


def test_a_pytorch_without_a_part(programs: Path, tmp_path: Path) -> None:
    """Its part is built at first use, by the service, the launcher or the program, whichever comes first."""
    shutil.rmtree(packages(programs) / "client_shim" / "lib" / "parts")
    cache = tmp_path / "cache"
    without = run(programs / "jitc", "demo", JITC_CACHE=str(cache), CXX="none")
    (line,) = without.stderr.splitlines()
    assert without.returncode == 1 and "there is no compiler none" in line
    done = demo(programs, tmp_path, JITC_CACHE=str(cache))
    assert done.stderr.count("jitc: builds its part for PyTorch") == 1
    assert "builds" not in demo(programs, tmp_path, JITC_CACHE=str(cache), CXX="none").stderr
    built = run(programs / "jitc", "build-torch", JITC_CACHE=str(cache), CXX="none")
    assert (built.returncode, built.stderr) == (0, "")
    assert Path(built.stdout.strip()).parent == cache / "parts"


def test_build_torch_serves_all_users(programs: Path, tmp_path: Path) -> None:
    kept = packages(programs) / "client_shim" / "lib" / "parts"
    shutil.rmtree(kept)
    built = run(programs / "jitc", "build-torch", JITC_CACHE=str(tmp_path / "cache"))
    assert built.returncode == 0, built.stderr
    assert Path(built.stdout.strip()).parent == kept and not (tmp_path / "cache").exists()
    demo(programs, tmp_path, JITC_CACHE=str(tmp_path / "cache"), CXX="none")


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("interpose/lib/libjitc_interpose.so", "libjitc_interpose.so is missing"),
        ("proxy/lib/libjitc_executor.so", "libjitc_executor.so is missing"),
        ("interpose/lib/libjitc_transport.so", "libjitc_transport.so is missing"),
        ("examples/train_gpt.py", "train_gpt.py is missing"),
        ("v1/control_pb2.py", "installation is broken"),
        ("ops", "installation is broken"),
        ("client_shim/native_parts/supply.py", "installation is broken"),
    ],
)
def test_a_broken_installation_says_what_mends_it(programs: Path, missing: str, said: str) -> None:
    place = packages(programs) / missing
    (shutil.rmtree if place.is_dir() else os.unlink)(place)
    done = run(programs / "jitc", "demo")
    assert done.returncode != 0
    assert any(said in line and "pip install --force-reinstall jitc" in line for line in done.stderr.splitlines())
    assert "make build" not in done.stderr and "Traceback" not in done.stderr


def test_without_pytorch(tmp_path: Path, wheel: Path) -> None:
    programs = installed(tmp_path / "bare", wheel, torch=False)
    (line,) = run(programs / "jitc", "demo").stderr.splitlines()
    assert "installation is broken" in line and "pip install" in line  # grpcio has been left out as well
    for name in ("grpc", "google", "typing_extensions.py"):
        os.symlink(Path(grpc.__file__).parents[1] / name, packages(programs).parent / name)
    done = run(programs / "jitc", "demo")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line == "jitc demo: it trains with PyTorch, which is not installed: pip install 'jitc[torch]'"


def test_from_sources(tmp_path: Path, wheel: Path) -> None:
    """What pip builds of the source distribution is what the wheel has, but for native parts."""
    (archive,) = wheel.parent.glob("jitc-*[0-9].tar.gz")
    words = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    done = run(
        sys.executable,
        *words,
        "--wheel-dir",
        tmp_path,
        archive,
        PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    )
    assert done.returncode == 0, done.stderr
    (built,) = tmp_path.glob("*.whl")
    assert built.name.endswith("-py3-none-linux_x86_64.whl")
    ours, theirs = ({one.filename: one for one in zipfile.ZipFile(path).infolist()} for path in (wheel, built))
    parts = {name for name in ours if name.startswith("jitc/client_shim/lib/parts/")}
    assert set(theirs) == set(ours) - parts
    different = {name for name, one in theirs.items() if one.CRC != ours[name].CRC}
    assert {Path(name).name for name in different} <= {"WHEEL", "RECORD"}


def test_the_oldest_pip_installs_the_checkout(tmp_path: Path) -> None:
    """Ubuntu 22.04 has pip 22.0, and so has a new environment there; CMake is nowhere yet. The command is that of
    scripts/setup.mk."""
    makefile = (ROOT / "scripts" / "setup.mk").read_text()
    (words,) = re.findall(r"packages \$\(PY\) -m pip (install .*) -e", makefile)
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    for command in (
        ["install", "pip==22.0.2"],
        ["install", "scikit-build-core>=1.0,<2"],
        [*words.split(), "--no-deps", "-e", ROOT],
    ):
        done = run(python, "-m", "pip", "--quiet", *command, PATH=str(python.parent))
        assert done.returncode == 0, done.stderr
    found = run(python, "-c", "import jitc.client_shim as found; print(found.__file__)")
    assert found.stdout.strip() == str(ROOT / "client_shim" / "__init__.py")


@pytest.mark.skipif(bool(debian.why_not()), reason=debian.why_not() or "debian")
def test_a_system_that_is_too_old(tmp_path: Path, wheel: Path) -> None:
    """Debian 11 has glibc 2.31 and Python 3.9: pip takes nothing there, but an installation may be seen from it."""
    root = tmp_path / "debian"
    debian.make(root, "bullseye", "python3")
    with zipfile.ZipFile(wheel) as contents:
        contents.extractall(root / "jitc-of-another")
    for command in (["preload-path"], ["run", "--", "true"], ["status"]):
        done = debian.run(root, "python3", "-m", "jitc", *command, PYTHONPATH="/jitc-of-another")
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("jitc: jitc needs glibc 2.34 or newer (Debian 12, Ubuntu 22.04, Red Hat 9)")
        assert line.endswith("and this system has glibc 2.31")

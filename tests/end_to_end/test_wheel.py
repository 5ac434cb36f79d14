"""The wheel, as somebody has it who has no checkout: installed, run, with parts of it missing or broken, and with a
PyTorch for which it has no native part."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from email.parser import Parser
from pathlib import Path

import pytest
from toolkit import debian
from toolkit.elf import RED_HAT_9, needed_versions
from toolkit.tree import ROOT
from toolkit.wheel import PLATFORM, bring, environment, installed, made, named_in, places, repaired, site_packages, tool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
STEPS = "4"
MB = 1_000_000
#: Of the processor in an ELF file, and AArch64's number.
MACHINE, AARCH64 = 18, 183
#: Imports all of the package that works without PyTorch.
IMPORTS = """
import importlib, pkgutil
for top in ("jitc.client_shim.native_parts", "jitc.interpose", "jitc.ops", "jitc.proxy", "jitc.v1"):
    for one in pkgutil.walk_packages(importlib.import_module(top).__path__, f"{top}."):
        if not one.name.endswith(".__main__"):
            importlib.import_module(one.name)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, with a part for the PyTorch of the tests."""
    import torch

    return made(tmp_path_factory.mktemp("dist"), torch.__version__.split("+")[0])


@pytest.fixture
def programs(tmp_path: Path, wheel: Path) -> Path:
    return installed(tmp_path / "venv", wheel)


@pytest.fixture(scope="module")
def shared_programs(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """Those of an installation that each test leaves as it was."""
    return installed(tmp_path_factory.mktemp("shared") / "venv", wheel)


def packages(programs: Path) -> Path:
    return site_packages(programs.parent) / "jitc"


def look_at(part: Path, *built_in: Path) -> None:
    """A native part keeps what is promised of the wheel's other libraries, and is small."""
    import torch

    names = places(Path(torch.__file__).parents[1], *built_in)
    oldest = tuple(int(one) for one in re.findall(r"\d+", PLATFORM)[:2])
    found = sorted(part.glob("*.so"))
    assert [one.name for one in found] == ["libjitc_operators.so", "libjitc_torch.so"]
    for library in found:
        assert named_in(library.read_bytes(), names) == []
        assert max(needed_versions(library, "GLIBC")) <= oldest
        assert max(needed_versions(library, "GLIBCXX")) <= RED_HAT_9
    assert sum(one.stat().st_size for one in found) < MB


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
    (part,) = (packages(programs) / "client_shim" / "lib" / "parts").iterdir()
    look_at(part)


def test_the_tools_take_a_wheel_with_a_part(wheel: Path, tmp_path: Path) -> None:
    """PyTorch's libraries are left to PyTorch, and a part as it is: it is not loaded if its hashes are others."""
    again = repaired(wheel, tmp_path / "repaired")
    assert again.name == wheel.name
    files = [[one for one in zipfile.ZipFile(path).infolist() if not one.is_dir()] for path in (wheel, again)]
    ours, theirs = ({one.filename: one.CRC for one in each} for each in files)
    assert set(theirs) == set(ours)
    different = {name for name, number in theirs.items() if number != ours[name]}
    assert {Path(name).name for name in different} <= {"WHEEL", "RECORD"}
    assert sum(name.startswith("jitc/client_shim/lib/parts/") and name.endswith(".so") for name in ours) == 2
    assert "OK" in tool("check-wheel-contents", str(wheel))


def test_a_pytorch_without_a_part(
    programs: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Its part is built at first use, by the service, the launcher or the program, whichever comes first."""
    shutil.rmtree(packages(programs) / "client_shim" / "lib" / "parts")
    cache = tmp_path / "cache"
    without = run(programs / "jitc", "demo", JITC_CACHE=str(cache), CXX="none")
    (line,) = without.stderr.splitlines()
    assert without.returncode == 1 and "there is no compiler none" in line
    done = demo(programs, tmp_path, JITC_CACHE=str(cache))
    assert done.stderr.count("jitc: builds its part for PyTorch") == 1
    (seconds,) = re.findall(r"^jitc: its part for PyTorch \S+ is in .* \((\d+) s\)$", done.stderr, re.MULTILINE)
    record_property("first use, seconds", seconds)
    print(f"the part was built in {seconds} s, with {len(os.sched_getaffinity(0))} processors")
    assert "builds" not in demo(programs, tmp_path, JITC_CACHE=str(cache), CXX="none").stderr
    built = run(programs / "jitc", "build-torch", JITC_CACHE=str(cache), CXX="none")
    assert (built.returncode, built.stderr) == (0, "")
    part = Path(built.stdout.strip())
    assert part.parent == cache / "parts"
    look_at(part, tmp_path)


def test_build_torch_serves_all_users(programs: Path, tmp_path: Path) -> None:
    kept = packages(programs) / "client_shim" / "lib" / "parts"
    shutil.rmtree(kept)
    built = run(programs / "jitc", "build-torch", JITC_CACHE=str(tmp_path / "cache"))
    assert built.returncode == 0, built.stderr
    assert Path(built.stdout.strip()).parent == kept and not (tmp_path / "cache").exists()
    demo(programs, tmp_path, JITC_CACHE=str(tmp_path / "cache"), CXX="none")


@contextlib.contextmanager
def replaced(place: Path, contents: bytes | None = None) -> Iterator[None]:
    """With other contents, or without it."""
    aside = place.with_name(f"{place.name}.aside")
    place.rename(aside)
    try:
        if contents is not None:
            place.write_bytes(contents)
        yield
    finally:
        place.unlink(missing_ok=True)
        aside.rename(place)


def refused(programs: Path, folder: Path, who: str, said: str) -> None:
    """Each of these commands ends with one line that says what mends it."""
    service = [programs / "jitc-proxyd", "--device", "software", "--gpus", "1", "--socket", folder / "s"]
    commands = {
        "demo": [programs / "jitc", "demo"], "doctor": [programs / "jitc", "doctor"], "jitc-proxyd": service,
        "run": [programs / "jitc", "run", "--", "true"],
    }  # fmt: skip
    for name in who.split():
        done = run(*commands[name])
        output = f"{name}:\n{done.stdout}{done.stderr}"
        lines = [" ".join(done.stdout.split()), *done.stderr.splitlines()]  # the doctor's lines are wrapped
        assert done.returncode != 0, output
        assert any(said in one and "pip install --force-reinstall jitc" in one for one in lines), output
        assert "make build" not in output and "Traceback" not in output, output


ALL, PRELOADED = "demo doctor jitc-proxyd run", "demo doctor run"


@pytest.mark.parametrize(
    ("missing", "said", "who"),
    [
        ("interpose/lib/libjitc_interpose.so", "libjitc_interpose.so is missing", PRELOADED),
        ("proxy/lib/libjitc_executor.so", "libjitc_executor.so is missing", ALL),
        ("interpose/lib/libjitc_transport.so", "libjitc_transport.so is missing", ALL),
        ("proxy/lib/libjitc_boundaries.so", "libjitc_boundaries.so is missing", "doctor"),
        ("examples/train_gpt.py", "train_gpt.py is missing", "demo"),
        ("v1/control_pb2.py", "installation is broken", ALL),
        ("ops", "installation is broken", ALL),
        ("client_shim/native_parts/supply.py", "installation is broken", ALL),
    ],
)
def test_a_broken_installation_says_what_mends_it(
    shared_programs: Path, tmp_path: Path, missing: str, said: str, who: str
) -> None:
    with replaced(packages(shared_programs) / missing):
        refused(shared_programs, tmp_path, who, said)


@pytest.mark.parametrize(
    ("library", "who"),
    [
        ("interpose/lib/libjitc_interpose.so", PRELOADED),
        ("proxy/lib/libjitc_executor.so", ALL),
        ("interpose/lib/libjitc_transport.so", ALL),
        ("proxy/lib/libjitc_boundaries.so", "doctor"),
    ],
)
def test_a_damaged_library_is_as_good_as_none(shared_programs: Path, tmp_path: Path, library: str, who: str) -> None:
    """One that was cut off, which would end its process by SIGBUS, and one of another machine."""
    place = packages(shared_programs) / library
    contents = place.read_bytes()
    with replaced(place, contents[: len(contents) // 2]):
        refused(shared_programs, tmp_path, who, f"{place.name} is damaged")
    foreign = contents[:MACHINE] + bytes([AARCH64]) + contents[MACHINE + 1 :]
    with replaced(place, foreign):
        refused(shared_programs, tmp_path, who, "cannot be preloaded" if who == PRELOADED else "cannot be loaded")


def test_without_pytorch(tmp_path: Path, wheel: Path) -> None:
    programs = installed(tmp_path / "bare", wheel, torch=False)
    (line,) = run(programs / "jitc", "demo").stderr.splitlines()
    assert "installation is broken" in line and "pip install" in line  # grpcio has been left out as well
    with zipfile.ZipFile(wheel) as contents:
        (name,) = [one for one in contents.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(contents.read(name).decode())
    bring(site_packages(programs.parent), metadata.get_all("Requires-Dist", []))
    done = run(programs / "jitc", "demo")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line == "jitc demo: it trains with PyTorch, which is not installed: pip install 'jitc[torch]'"
    imported = run(programs / "python", "-c", IMPORTS)
    assert (imported.returncode, imported.stderr) == (0, ""), "what is declared is all that the service needs"


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


def test_pip_shows_why_it_cannot_build(tmp_path: Path, wheel: Path) -> None:
    """Our line is within pip's own block about a failure."""
    (archive,) = wheel.parent.glob("jitc-*[0-9].tar.gz")
    words = ["-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation"]
    done = run(sys.executable, *words, "--target", tmp_path / "target", archive, PATH=str(tmp_path))
    output = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1 and not (tmp_path / "target").exists()
    assert (
        "jitc cannot be installed: jitc is built here from its sources, and packages are missing for that. Debian, "
        "Ubuntu: apt-get install g++ pkg-config libnghttp2-dev libxxhash-dev nlohmann-json3-dev. Red Hat: dnf install "
    ) in output
    assert "Traceback" not in output


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
    jitc = ["-m", "jitc"]
    service = ["-c", "import sys; from jitc.proxy.commands.entry import jitc_proxyd; sys.exit(jitc_proxyd())"]
    for name, *command in (
        ["jitc", *jitc, "preload-path"], ["jitc", *jitc, "run", "--", "true"], ["jitc", *jitc, "status"],
        ["jitc", *jitc, "doctor"], ["jitc-proxyd", *service],
    ):  # fmt: skip
        done = debian.run(root, "python3", *command, PYTHONPATH="/jitc-of-another")
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"{name}: jitc needs glibc 2.34 or newer (Debian 12, Ubuntu 22.04, Red Hat 9)")
        assert line.endswith("and this system has glibc 2.31")

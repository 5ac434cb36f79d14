"""What torch.compile lacks on the software device is one line that says what to do; what goes wrong with a compiled
kernel costs no worker."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.inductor import QUICK
from toolkit.job import PRELOAD, run_command
from toolkit.service import Service
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("compiled_steps.py")
SECONDS = 400.0
pytestmark = pytest.mark.timeout(900)
#: What the search for a compiler itself runs.
COMMANDS = ("bash", "cat", "env", "sh", "uname")


def say(service: Service, cache: Path, function: str = "plain", **env: str) -> list[str]:
    environment = service.env | QUICK | env | {"TORCHINDUCTOR_CACHE_DIR": str(cache), "LD_PRELOAD": str(PRELOAD)}
    done = run_command([sys.executable, str(PROGRAM), function], environment, SECONDS)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout.splitlines()


def path_without_a_compiler(folder: Path) -> str:
    folder.mkdir()
    for name in COMMANDS:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)


@pytest.mark.sampled
def test_no_compiler_and_cpp_wrappers(workplace: Workplace, tmp_path: Path) -> None:
    service = workplace.service(1)
    nothing = path_without_a_compiler(tmp_path / "bin")
    for cached in (False, True):
        if cached:
            assert say(service, tmp_path / "cache") == ["True", "3.0"]
        [line, after] = say(service, tmp_path / "cache", PATH=nothing)
        assert line.startswith("jitc: torch.compile needs a C++ compiler") and "Install g++" in line, line
        assert after == "3.0"
    [line, after] = say(service, tmp_path / "cache", TORCHINDUCTOR_CPP_WRAPPER="1")
    assert line.startswith("jitc: Inductor's C++ wrappers") and "TORCHINDUCTOR_CPP_WRAPPER off" in line, line
    assert after == "3.0"
    assert service.report() == []


def test_a_program_that_ends_there_shows_few_frames(workplace: Workplace, tmp_path: Path) -> None:
    environment = workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD), "CXX": str(tmp_path / "no-compiler")}
    code = "import torch\nf = torch.compile(lambda x: x + 1)\nf(torch.ones(2, device='cuda'))"
    done = run_command(
        [sys.executable, "-c", code], environment | QUICK | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}, SECONDS
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len([line for line in lines if line.startswith("  File ")]) <= 3, done.stderr[-6000:]
    assert any("CannotCompile: jitc: torch.compile needs a C++ compiler" in line for line in lines)


def _cut_off(library: bytearray) -> bytearray:
    return library[: len(library) // 2]


def _changed(library: bytearray) -> bytearray:
    library[len(library) // 8 :: 7] = b"\xff" * len(library[len(library) // 8 :: 7])
    return library


def _of_another_processor(library: bytearray) -> bytearray:
    library[18:20] = (8).to_bytes(2, "little")  # EM_MIPS
    return library


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inductor's cache after one run, once it is there."""
    return tmp_path_factory.mktemp("compiled") / "cache"


def libraries(cache: Path) -> list[Path]:
    return list(cache.rglob("*.main.so"))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "damage", [_changed, *(pytest.param(one, marks=pytest.mark.slow) for one in (_cut_off, _of_another_processor))]
)
def test_a_damaged_library_is_compiled_again(
    damage: Callable[[bytearray], bytearray], workplace: Workplace, compiled: Path
) -> None:
    service = workplace.service(1)
    assert say(service, compiled) == ["True", "3.0"]
    [library] = libraries(compiled)
    whole = library.read_bytes()
    library.write_bytes(damage(bytearray(whole)))
    assert say(service, compiled) == ["True", "3.0"]
    assert library.read_bytes() == whole
    assert service.report() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "reason"),
    [(_cut_off, "is cut off, no library, or not there"), (_of_another_processor, "for another kind of processor")],
)
def test_a_damaged_library_that_nobody_knows(
    damage: Callable[[bytearray], bytearray], reason: str, workplace: Workplace, compiled: Path
) -> None:
    """Changed before its first use: one line, and the worker goes on."""
    service = workplace.service(1)
    assert say(service, compiled) == ["True", "3.0"]
    [library] = libraries(compiled)
    whole = library.read_bytes()
    for one in library.parent.glob(f"{library.name}.*"):
        one.unlink()
    library.write_bytes(damage(bytearray(whole)))
    [line, after] = say(service, compiled)
    assert line.startswith("jitc: ") and reason in line, line
    assert after == "3.0"
    assert service.report() == []
    for one in (library, *library.parent.glob(f"{library.name}.*")):
        os.unlink(one)

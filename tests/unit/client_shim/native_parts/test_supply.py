"""A part that is built at first use: one builds and others wait, and nothing that goes wrong leaves anything."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from parts_rig import WORKS, asking, compiler, ended, installation, providing, torch_package
from toolkit.waiting import patient, readable

from jitc.client_shim.native_parts.store import LIBRARIES, MANIFEST
from jitc.client_shim.native_parts.torch_build import TorchBuild


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    return installation(tmp_path / "packages")


@pytest.fixture
def torch(tmp_path: Path) -> TorchBuild:
    return torch_package(tmp_path / "site")


def left(cache: Path) -> set[str]:
    """What is in the store beside whole parts."""
    store = cache / "parts"
    whole = {one.parent for one in store.glob(f"*/{MANIFEST}")}
    return {one.name for one in store.iterdir() if one not in whole} - {"lock"}


def test_it_is_built_once_and_then_found(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    cxx, cache = compiler(tmp_path, WORKS), tmp_path / "cache"
    status, place, said = ended(providing(packages, torch, cache, cxx))
    assert status == 0, said
    assert {one.name for one in Path(place).iterdir()} == {*LIBRARIES, MANIFEST}
    assert (Path(place) / LIBRARIES[0]).read_text() == f"made {LIBRARIES[0]}\n"
    assert "about 4 minutes" in said.splitlines()[0] and place in said.splitlines()[1]
    cxx.write_text("#!/bin/sh\nexit 9\n")
    assert ended(providing(packages, torch, cache, cxx)) == (0, place, "")
    assert left(cache) == set()


def test_half_a_part_is_built_again(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    cxx, cache = compiler(tmp_path, WORKS), tmp_path / "cache"
    _, place, _ = ended(providing(packages, torch, cache, cxx))
    (Path(place) / LIBRARIES[1]).write_text("half")
    assert ended(providing(packages, torch, cache, cxx))[:2] == (0, place)
    assert (Path(place) / LIBRARIES[1]).read_text() == f"made {LIBRARIES[1]}\n"


def test_one_builds_and_the_others_wait(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    begun, goes_on, count = (tmp_path / name for name in ("begun", "goes_on", "count"))
    os.mkfifo(begun)
    os.mkfifo(goes_on)
    script = (
        f"if mkdir {tmp_path}/first 2>/dev/null; then echo > {begun}; read < {goes_on}; fi; echo >> {count}; {WORKS}"
    )
    cxx, cache = compiler(tmp_path, script), tmp_path / "cache"
    builder = providing(packages, torch, cache, cxx)
    begun.read_text()
    waiting = providing(packages, torch, cache, cxx)
    rank = providing(packages, torch, cache, cxx, LOCAL_RANK="1")
    assert waiting.stderr is not None
    line = waiting.stderr.readline()  # it has asked for the lock
    assert line.startswith("jitc: waits for another process that builds in")
    goes_on.write_text("\n")
    status, place, _ = ended(builder)
    compilations = count.read_text().count("\n")
    assert status == 0 and compilations > len(LIBRARIES)
    assert ended(waiting) == (0, place, "")
    assert ended(rank) == (0, place, ""), "of several ranks one says it"
    assert count.read_text().count("\n") == compilations


def test_one_that_is_killed_holds_nobody_up(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    begun, never = tmp_path / "begun", tmp_path / "never"
    os.mkfifo(begun)
    os.mkfifo(never)
    script = f"if mkdir {tmp_path}/first 2>/dev/null; then echo > {begun}; read < {never}; fi; {WORKS}"
    cxx, cache = compiler(tmp_path, script), tmp_path / "cache"
    builder = providing(packages, torch, cache, cxx)
    begun.read_text()
    waiting = providing(packages, torch, cache, cxx)
    assert waiting.stderr is not None
    waiting.stderr.readline()
    builder.kill()
    builder.communicate(timeout=60)
    status, place, _ = ended(waiting)
    assert status == 0 and Path(place).is_dir()
    assert left(cache) == set()
    held = os.open(never, os.O_RDWR)  # for the first one's compiler, which nobody waits for
    os.write(held, b"\n")
    os.close(held)


def test_a_compiler_that_fails(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    script = f'case "$*" in *plan.cpp*) echo "plan.cpp:3: error: no such thing" >&2; exit 1;; esac; {WORKS}'
    cxx, cache = compiler(tmp_path, script), tmp_path / "cache"
    status, place, said = ended(providing(packages, torch, cache, cxx))
    assert (status, place) == (1, "")
    (line,) = said.splitlines()[1:]
    assert line.startswith("no part of jitc is for PyTorch 2.99.0+cu130, and none can be built: ")
    assert "client_shim/native/plan.cpp does not compile: plan.cpp:3: error: no such thing" in line
    log = cache / "parts" / "build.log"
    assert str(log) in line and "no such thing" in log.read_text()
    assert left(cache) == {"build.log"}


def test_no_compiler(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    cache = tmp_path / "cache"
    for cxx, path, reason in (
        ("", str(tmp_path), "there is no C++ compiler; install one (Debian, Ubuntu: apt-get install g++;"),
        ("g++-99 -m64", os.environ["PATH"], "there is no compiler g++-99, which CXX names; install one"),
    ):
        status, _, said = ended(providing(packages, torch, cache, cxx, PATH=path))
        (line,) = said.splitlines()
        assert status == 1 and reason in line
        assert left(cache) == set()


def test_no_headers_of_cuda(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    header = torch.folder.parent / "nvidia" / "cu13" / "include" / "cuda_runtime_api.h"
    header.unlink()
    cxx, cache = compiler(tmp_path, WORKS), tmp_path / "cache"
    no_toolkit = "from jitc.client_shim.native_parts import headers\nheaders.TOOLKIT = '/nowhere'"
    status, _, said = ended(providing(packages, torch, cache, cxx, no_toolkit, CUDA_HOME="", CUDA_PATH=""))
    assert status == 1
    assert "no headers of the CUDA runtime: install nvidia-cuda-runtime, or set CUDA_HOME" in said
    assert left(cache) == set()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("before", ["true", "! head -c 2M /dev/zero 2>/dev/null > filler"], ids=["fills", "is full"])
def test_a_full_disk(tmp_path: Path, packages: Path, torch: TorchBuild, before: str) -> None:
    """One that fills when a library is linked, after all that is compiled for it; and one that is full before."""
    large = 'head -c 3M /dev/zero > "$out" || exit 1'
    small = 'echo > "$out" || exit 1'
    cxx = compiler(tmp_path, f'case "$links $out" in "1 "*/named/*|" "*) {small};; *) {large};; esac')
    cache = tmp_path / "cache"
    cache.mkdir()
    code = (
        f"mount -t tmpfs -o size=1M none {cache} && cd {cache} && {before} || exit 9\n"
        f'{sys.executable} -S -c "$0"; status=$?; ls parts; exit $status'
    )
    told = {"PYTHONPATH": str(packages), "JITC_CACHE": str(cache), "CXX": str(cxx), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", code, asking(torch)], env=told, text=True, capture_output=True,
        timeout=patient(120), check=False,
    )  # fmt: skip
    if "unshare failed" in done.stderr or "permission denied" in done.stderr:
        pytest.skip(f"no small disk here: {done.stderr}")
    assert done.returncode == 1, done.stderr
    begun, line = done.stderr.splitlines()
    assert begun.startswith("jitc: builds its part for PyTorch 2.99.0+cu130")
    assert line == (
        f"jitc's part for PyTorch 2.99.0+cu130 cannot be built in {cache}/parts: the disk is full; JITC_CACHE names "
        "another folder"
    )
    assert done.stdout.split() == ["build.log", "lock"]


@pytest.mark.parametrize(
    "version",
    ["../../escaped", "/escaped", "..", ".hidden", "2.99/../../escaped", "a b\tc", "9" * 300],
    ids=["above", "root", "dots", "hidden", "within", "blanks", "long"],
)  # fmt: skip
def test_a_version_that_is_no_name_of_a_folder(tmp_path: Path, packages: Path, version: str) -> None:
    """PyTorch says of itself what it likes; its part is in the store, and found there."""
    torch, cache = torch_package(tmp_path / "site", version), tmp_path / "cache"
    status, place, said = ended(providing(packages, torch, cache, compiler(tmp_path, WORKS)))
    assert status == 0, said
    assert Path(place).parent == cache / "parts" and re.fullmatch(r"\w[\w+.-]*", Path(place).name)
    assert {one.name for one in Path(place).iterdir()} == {*LIBRARIES, MANIFEST}
    assert ended(providing(packages, torch, cache, "none")) == (0, place, "")
    assert left(cache) == set()
    assert {one.name for one in tmp_path.iterdir()} == {"packages", "site", "cache", "compiler"}


def written(shown: int) -> str:
    """What is written on a terminal until nobody has it any more."""
    text = b""
    while readable(shown, patient(60)):
        try:
            text += os.read(shown, 1 << 16)
        except OSError:
            return text.decode()
    raise AssertionError(f"nothing more, and no end: {text.decode()}")


def test_how_far_it_is_on_a_terminal(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    """A bar on the line of the cursor, of which nothing is left; the output has the folder alone."""
    shown, end = os.openpty()
    process = providing(packages, torch, tmp_path / "cache", compiler(tmp_path, WORKS), errors=end)
    os.close(end)
    text = written(shown).replace("\r\n", "\n")
    os.close(shown)
    place = process.communicate(timeout=patient(60))[0].strip()
    assert process.returncode == 0
    bars = re.findall(r"\r(   \[(#*)( *)\] (\d+)/(\d+) )", text)
    done, whole = [int(one[3]) for one in bars], {int(one[4]) for one in bars}
    assert sorted(done) == list(range(1, max(done) + 1)) and whole == {max(done)}
    width = len(bars[0][1] + bars[0][2])
    assert all(len(one[1] + one[2]) == width and len(one[1]) == width * int(one[3]) // max(done) for one in bars)
    ((blanks, after),) = re.findall(r"\r( +)\r(.*)\n", text)
    assert len(blanks) >= max(len(one[0]) for one in bars), "a shorter line would leave the end of the bar"
    assert re.fullmatch(
        rf"jitc: its part for PyTorch {re.escape(torch.version)} is in {re.escape(place)} \(\d+ s\)", after
    )


def test_a_home_that_cannot_be_written(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    cxx = compiler(tmp_path, WORKS)
    blocked = tmp_path / "file"
    blocked.write_text("")
    status, _, said = ended(providing(packages, torch, blocked, cxx))
    assert status == 1
    (line,) = said.splitlines()
    assert "cannot be built in" in line and line.endswith("JITC_CACHE names another folder")


def test_it_is_interrupted(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    script = f"if mkdir {tmp_path}/first 2>/dev/null; then echo > {begun}; exec sleep 600; fi; {WORKS}"
    cxx, cache = compiler(tmp_path, script), tmp_path / "cache"
    process = providing(packages, torch, cache, cxx)
    begun.read_text()
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] != 0
    assert left(cache) == set()


def test_a_user_without_a_home(tmp_path: Path, packages: Path, torch: TorchBuild) -> None:
    """Who has only a number, as in some containers."""
    no_home = "def nowhere():\n    raise RuntimeError\nPath.home = nowhere\nimport os\ndel os.environ['JITC_CACHE']"
    status, _, said = ended(providing(packages, torch, tmp_path, compiler(tmp_path, WORKS), no_home))
    assert (status, said) == (1, "this user has no home folder for a native part: set JITC_CACHE to a folder")

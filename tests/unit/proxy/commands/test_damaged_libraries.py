"""A shipped library that was cut off, or is another machine's: one line says what mends it, and no process is ended by
the loader. The same in an installation: tests/end_to_end/test_wheel.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolkit.tree import ROOT

from jitc.proxy.commands import jitc
from jitc.proxy.commands.doctor.check import BAD, GOOD, Check, Context, Finding, good, run
from jitc.proxy.common import paths

BOUNDARIES = (ROOT / "proxy" / "lib" / "libjitc_boundaries.so").read_bytes()
INTERPOSER = ROOT / "interpose" / "lib" / "libjitc_interpose.so"
#: Of the processor in an ELF file, and AArch64's number.
MACHINE, AARCH64 = 18, 183


def of_another_machine(contents: bytes) -> bytes:
    changed = bytearray(contents)
    changed[MACHINE] = AARCH64
    return bytes(changed)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a library of an installation."""
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path)
    (tmp_path / "lib").mkdir()
    return tmp_path / "lib" / "libjitc_boundaries.so"


@pytest.mark.parametrize("length", [0, 3, 63, 64, 4096, len(BOUNDARIES) // 2, len(BOUNDARIES) - 1])
def test_one_that_was_cut_off_is_not_loaded(library: Path, length: int) -> None:
    library.write_bytes(BOUNDARIES[:length])
    with pytest.raises(paths.MissingLibrary) as refused:
        paths.boundaries_library()
    assert str(refused.value) == f"libjitc_boundaries.so is damaged ({library}); run `make build`"


def test_a_text_is_no_library(library: Path) -> None:
    library.write_text("version https://git-lfs.github.com/spec/v1\n" * 10)
    with pytest.raises(paths.MissingLibrary, match="is damaged"):
        paths.boundaries_library()


def test_one_that_is_whole_is_loaded(library: Path) -> None:
    library.write_bytes(BOUNDARIES)
    assert paths.opened(paths.boundaries_library()).jitc_boundaries_open


def test_one_of_another_machine_is_not_loaded(library: Path) -> None:
    library.write_bytes(of_another_machine(BOUNDARIES))
    with pytest.raises(paths.MissingLibrary) as refused:
        paths.opened(paths.boundaries_library())
    (line,) = str(refused.value).splitlines()
    assert line.startswith("libjitc_boundaries.so cannot be loaded (") and line.endswith("; run `make build`")


def test_a_program_is_not_run_without_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The loader warns, and goes on."""
    broken = tmp_path / INTERPOSER.name
    broken.write_bytes(of_another_machine(INTERPOSER.read_bytes()))
    monkeypatch.setattr(paths, "preload_library", lambda: broken)
    assert jitc.main(["run", "--", "touch", str(tmp_path / "was run")]) == 1
    said = capfd.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith(f"jitc: {broken} cannot be preloaded: ") and line.endswith("; run `make build`")
    assert said.out == "" and not (tmp_path / "was run").exists()


def test_a_module_that_is_missing_is_a_broken_installation() -> None:
    """Also where one check alone needs it."""

    def lacks(_: Context) -> Finding:
        raise ModuleNotFoundError("No module named 'jitc.v1.control_pb2'")

    checks = [Check("one", lacks), Check("two", lambda _: good("x"))]
    one, two = (found.finding for found in run([("a", checks)], Context("software")))
    assert (one.verdict, two.verdict) == (BAD, GOOD)
    assert one.says == "jitc's installation is broken: No module named 'jitc.v1.control_pb2'"
    assert one.remedy == "run `make build`"

"""The fake NVRTC: what it takes, what it refuses, and that the fake driver loads what it makes."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from fake_driver import Driver, copied

SOURCE = (
    b'#include "rules.h"\nextern "C" __global__ void __launch_bounds__(256)\n    add_i64(const long* p, long v) {}\n'
)
OPTIONS = (b"--gpu-architecture=sm_90", b"--std=c++17")
COMPILATION, INVALID_OPTION = 6, 5


class Program:
    """One program of a fake NVRTC."""

    def __init__(self, folder: Path, headers: tuple[bytes, ...] = (b"rules.h",)) -> None:
        self.library = ctypes.CDLL(str(copied("nvrtc", folder)))
        self.handle = ctypes.c_void_p()
        names = (ctypes.c_char_p * max(1, len(headers)))(*headers)
        assert self.library.nvrtcCreateProgram(
            ctypes.byref(self.handle), SOURCE, b"kernel.cu", len(headers), names, names
        ) == 0  # fmt: skip

    def compile(self, *options: bytes) -> int:
        code: int = self.library.nvrtcCompileProgram(
            self.handle, len(options), (ctypes.c_char_p * len(options))(*options)
        )
        return code

    def text(self, what: str) -> bytes:
        size = ctypes.c_size_t()
        assert getattr(self.library, f"nvrtcGet{what}Size")(self.handle, ctypes.byref(size)) == 0
        text = ctypes.create_string_buffer(size.value)
        assert getattr(self.library, f"nvrtcGet{what}")(self.handle, text) == 0
        return text.raw

    def end(self) -> None:
        assert self.library.nvrtcDestroyProgram(ctypes.byref(self.handle)) == 0
        assert not self.handle


def test_an_image_that_the_fake_driver_loads(tmp_path: Path, driver: Driver) -> None:
    program = Program(tmp_path)
    assert program.compile(*OPTIONS) == 0
    image = program.text("CUBIN")
    assert image == b"JITCFAKE 1\nkernel add_i64\n\0"
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.ok("cuModuleLoadData", ctypes.byref(module), image)
    driver.ok("cuModuleGetFunction", ctypes.byref(function), module, b"add_i64")
    driver.ok("cuModuleUnload", module)
    program.end()


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    program = Program(tmp_path, headers=())
    assert program.compile(*OPTIONS) == COMPILATION
    assert program.text("ProgramLog").startswith(b"cannot open source file rules.h\n")
    assert program.compile(b"--gpu-architecture=sm_90", b"--fast-and-loose") == INVALID_OPTION
    assert program.compile() == INVALID_OPTION
    program.end()


def test_failures_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITC_FAKE_FAIL", "nvrtcCompileProgram:2=7")
    program = Program(tmp_path)
    assert [program.compile(*OPTIONS) for _ in range(3)] == [0, 7, 0]
    program.end()

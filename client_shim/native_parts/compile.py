"""Compiles a native part for one build of PyTorch, with a C++ compiler and nothing else.

Called by: supply.py (at first use, `jitc build-torch`) and the build of a wheel. Promises: PyTorch is not imported and
need not be whole, its headers are enough; no path of this machine gets into the libraries; a failure says what to
install, or which file did not compile, and keeps the compiler's words in a log.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock

from . import headers, sources
from .installation import PACKAGES
from .torch_build import TorchBuild

#: Bytes of memory that a compiler takes for a file that includes PyTorch's headers.
_COMPILER_BYTES = 1 << 30
#: The names that are tried, after $CXX.
_COMPILERS = ("g++", "c++", "clang++")
_FLAGS = (
    "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w",
    "-DAT_PER_OPERATOR_HEADERS",
)  # fmt: skip

#: Told how many of how many pieces of work are done.
Progress = Callable[[int, int], None]


class CannotBuild(Exception):
    """One line that says what is missing, or what failed."""


@dataclass(frozen=True)
class _Toolchain:
    command: tuple[str, ...]
    torch: TorchBuild
    work: Path

    def compile(self, library: sources.Library, source: Path, target: Path, *more: str) -> list[str]:
        folders = [str(PACKAGES / one) for one in library.headers]
        foreign = headers.of_torch(self.torch.folder)
        if library.cuda:
            foreign += headers.of_cuda(self.torch.folder, self.work)
        mapped = {str(PACKAGES): "", str(self.torch.folder.parent): "", str(self.work): "build/"}
        return [
            *self.command, *_FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={int(not self.torch.old_strings)}",
            *(f"-ffile-prefix-map={path}/={name}" for path, name in mapped.items()),
            *(f"-I{one}" for one in folders), *(word for one in foreign for word in ("-isystem", str(one))),
            *more, "-MD", "-MF", f"{target}.d", "-c", str(source), "-o", str(target),
        ]  # fmt: skip

    def link(self, library: sources.Library, objects: list[Path], target: Path) -> list[str]:
        return [
            *self.command, "-shared", "-Wl,-O1", "-Wl,-s", "-o", str(target), *map(str, objects),
            f"-L{self.work / 'named'}", "-Wl,--no-as-needed", *(f"-l:{one}" for one in library.torch),
            "-Wl,--as-needed", "-ldl", "-lpthread",
        ]  # fmt: skip


def build(torch: TorchBuild, folder: Path, progress: Progress, log: Path) -> list[str]:
    """Makes the two libraries in the folder, and works in one inside it, which is removed. Returns the headers of
    PyTorch that were read, below its folder. Raises CannotBuild, OSError."""
    work = folder / "work"
    work.mkdir(parents=True)
    tools = _Toolchain(compiler(), torch, work)
    steps = _Steps(progress, log)
    try:
        for library in sources.LIBRARIES:
            steps.expect(len(library.files()) + 2)
        _name_libraries(tools, steps)
        for library in sources.LIBRARIES:
            _build_library(tools, library, folder / library.name, steps)
        return _read(work, torch.folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def refuse_without_tools(torch: TorchBuild) -> None:
    """Raises CannotBuild if what a build needs is not there, so that none begins."""
    compiler()
    try:
        headers.runtime(torch.folder)
    except FileNotFoundError as error:
        raise CannotBuild(str(error)) from None


def _build_library(tools: _Toolchain, library: sources.Library, target: Path, steps: _Steps) -> None:
    folder = tools.work / library.name
    folder.mkdir()
    common = folder / "common.h"
    common.write_text("".join(f"#include <{one}>\n" for one in (*headers.COMMON, *library.common)))
    steps.run(tools.compile(library, common, folder / "common.h.gch", "-x", "c++-header"), "PyTorch's headers")
    objects = [folder / f"{number}.o" for number, _ in enumerate(library.files())]
    steps.run_all(
        (tools.compile(library, source, made, "-include", str(common)), str(source.relative_to(PACKAGES)))
        for source, made in zip(library.files(), objects, strict=True)
    )
    steps.run(tools.link(library, objects, target), library.name)


def _read(work: Path, torch: Path) -> list[str]:
    words = {word for one in work.rglob("*.d") for word in one.read_text().replace("\\\n", " ").split()}
    return sorted(word.removeprefix(f"{torch}/") for word in words if word.startswith(f"{torch}/"))


def _name_libraries(tools: _Toolchain, steps: _Steps) -> None:
    """Makes libraries with nothing but the names of PyTorch's: what is linked says that it needs them, and finds them
    among those that the process has loaded."""
    folder = tools.work / "named"
    folder.mkdir()
    (folder / "nothing.c").write_text("")
    for name in sorted({one for library in sources.LIBRARIES for one in library.torch}):
        words = ["-shared", "-nostdlib", f"-Wl,-soname,{name}", "-x", "c", str(folder / "nothing.c")]
        steps.run([*tools.command, *words, "-o", str(folder / name)], name, counts=False)


def compiler() -> tuple[str, ...]:
    """Returns the words that call it. Raises CannotBuild."""
    named = shlex.split(os.environ.get("CXX", ""))
    for words in [named] if named else [[one] for one in _COMPILERS]:
        if shutil.which(words[0]):
            return tuple(words)
    what = f"there is no compiler {named[0]}, which CXX names" if named else "there is no C++ compiler"
    raise CannotBuild(f"{what}; install one (Debian, Ubuntu: apt-get install g++; Red Hat: dnf install gcc-c++)")


class _Steps:
    """Runs commands, some of them beside each other, counts them, and stops all with the first that fails."""

    def __init__(self, progress: Progress, log: Path) -> None:
        self._progress, self._log = progress, log
        self._done, self._whole = 0, 0
        self._counting = Lock()
        self._stopped = Event()
        self._running: set[subprocess.Popen[str]] = set()

    def expect(self, count: int) -> None:
        self._whole += count

    def run(self, command: list[str], what: str, counts: bool = True) -> None:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env={**os.environ, "LC_ALL": "C", "LD_PRELOAD": ""},
        ) as process:  # fmt: skip
            self._running.add(process)
            try:
                if self._stopped.is_set():
                    process.kill()
                said, _ = process.communicate()
            finally:
                self._running.discard(process)
        if process.returncode:
            self._fail(command, said, what)
        if counts:
            with self._counting:  # each count is shown once, and no two at the same time
                self._done += 1
                self._progress(self._done, self._whole)

    def run_all(self, commands: Iterable[tuple[list[str], str]]) -> None:
        with ThreadPoolExecutor(_jobs()) as pool:
            waiting: list[Future[None]] = [pool.submit(self.run, *one) for one in commands]
            try:
                done, left = wait(waiting, return_when=FIRST_EXCEPTION)
            except BaseException:
                self._stop(waiting)
                raise
            if left:
                self._stop(list(left))
        for one in done:
            one.result()

    def _stop(self, waiting: list[Future[None]]) -> None:
        self._stopped.set()
        for one in waiting:
            one.cancel()
        for process in list(self._running):
            process.kill()

    def _fail(self, command: list[str], said: str, what: str) -> None:
        if not self._stopped.is_set():
            self._log.write_text(f"{shlex.join(command)}\n{said}")
        errors = [line for line in said.splitlines() if "error" in line] or ["it says nothing"]
        raise CannotBuild(f"{what} does not compile: {errors[0].strip()} ({self._log} has all of it)")


def _jobs() -> int:
    """Returns how many compilers run beside each other: one per processor that this process may use, and no more than
    there is memory for."""
    try:
        room = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _COMPILER_BYTES
    except (OSError, ValueError):
        room = 1
    return max(1, min(len(os.sched_getaffinity(0)), room))

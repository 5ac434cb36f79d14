"""Checks of a program: whether the preloaded library gets into it, and whether its CUDA calls then reach jitc.

Called by: command.py. Promise: the program is not started; its loader, and its Python, are.
"""

from __future__ import annotations

import os
import platform
import stat
import sys
from pathlib import Path

from jitc.client_shim.native_parts import torch_build

from ...common import paths
from . import child, elf, installation, runtime
from .check import GOOD, Check, Context, Finding, bad, good, unknown
from .interpreter import NoProgram, Python, Subject, python, subject

_NAME_MOST = 3
_GLIBC_LOADER = "ld-linux-x86-64.so.2"
_CAPABILITIES = "security.capability"


def found(context: Context) -> Finding | None:
    if not context.program:
        return None
    try:
        one = subject(context)
    except NoProgram as error:
        return bad(str(error), "see its path and its permissions (ls -l)")
    if one.file == one.started:
        return good(str(one.file))
    return good(f"{one.file}, a script of {one.started}")


def _subject(context: Context) -> Subject | None:
    """Returns None where there is no program; the first check says so."""
    try:
        found: Subject | None = context.once(subject) if context.program else None
        return found
    except NoProgram:
        return None


def rights(context: Context) -> Finding | None:
    """The loader ignores LD_PRELOAD in a process with more rights than its caller."""
    one = _subject(context)
    if one is None:
        return None
    status, extra = one.started.stat(), []
    honoured = not os.statvfs(one.started).f_flag & os.ST_NOSUID
    if honoured and status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        extra.append(f"set-uid of user {status.st_uid}")
    if honoured and status.st_mode & stat.S_ISGID and status.st_mode & stat.S_IXGRP and status.st_gid != os.getgid():
        extra.append(f"set-gid of group {status.st_gid}")
    if honoured and os.getuid() and _CAPABILITIES in os.listxattr(one.started):
        extra.append("file capabilities")
    if extra:
        return bad(
            f"{one.started} has {' and '.join(extra)}: the loader ignores LD_PRELOAD",
            "start a copy of it without them (cp), or remove them (chmod ug-s, setcap -r)",
        )
    return good("it has no more rights than its caller")


def loader(context: Context) -> Finding | None:
    one = _subject(context)
    return None if one is None else of_loader(one.started)


def of_loader(file: Path) -> Finding:
    head = elf.read(file)
    glibc = "use a build of it for glibc"
    if head is None:
        return unknown(f"{file} is no ELF file", "name the program that it starts")
    if head.bits != 64 or not head.ours:
        kind = "for 32 bits" if head.bits == 32 else "for another processor"
        return bad(f"{file} is {kind}: LD_PRELOAD has no effect", f"use a build of it for {platform.machine()}")
    if not head.loader:
        return bad(
            f"{file} is linked statically: LD_PRELOAD has no effect", "use a build of it that is linked dynamically"
        )
    if "ld-musl" in head.loader:
        return bad(f"{file} is for musl ({head.loader}): jitc's library cannot be loaded", glibc)
    if not head.loader.endswith(_GLIBC_LOADER):
        return unknown(f"{file} has a loader that is not known, {head.loader}", glibc)
    return good(f"linked dynamically ({head.loader})")


def linked(context: Context) -> list[str] | None:
    """Returns the lines of the loader about the program's libraries, with jitc's preloaded; None: it has none."""
    one = _subject(context)
    if one is None or of_loader(one.started).verdict != GOOD:
        return None
    head = elf.read(one.started)
    assert head is not None
    trace = {"LD_TRACE_LOADED_OBJECTS": "1"}  # it lists the libraries, and starts nothing
    done = child.ran([head.loader, "--preload", str(paths.preload_library()), str(one.started)], environment=trace)
    if done.status:
        raise NoProgram(f"the loader refuses it: {done.why()}")
    return [line.strip() for line in done.output.splitlines()]


def needed(context: Context) -> Finding | None:
    lines = context.once(linked)
    if lines is None:
        return None
    missing = [line.split(" => ")[0] for line in lines if line.endswith("=> not found")]
    if missing:
        return bad(f"the loader does not find {', '.join(missing)}", "install them, or set LD_LIBRARY_PATH")
    return good(f"the loader finds all {len(lines)} libraries, with jitc's among them")


def static_runtime(context: Context) -> Finding | None:
    one = _subject(context)
    if one is None:
        return None
    files = [Path(line.split(" => ")[1].split(" (")[0]) for line in context.once(linked) or [] if " => /" in line]
    search = runtime.Search().files([one.started, *files])
    installed: list[Path] = []
    if one.is_python:
        its: Python = context.once(python)
        imports = runtime.packages(one.script, one.module)
        for name in sorted(imports):
            search.files(runtime.libraries(name, its.folders))
        others = runtime.Search()
        for name in sorted(set(runtime.KNOWN) - imports):
            others.files(runtime.libraries(name, its.folders))
        installed = others.found
    return of_static_runtime(search, installed)


def of_static_runtime(search: runtime.Search, installed: list[Path]) -> Finding:
    """search: through the program's own files. installed: found in packages that it may import."""
    remedy = 'build it with -cudart shared (CMake: CUDA::cudart); for packages see docs/guarantees.md, "Refused"'
    if search.found:
        return bad(
            f"the CUDA runtime is linked in statically, so that calls do not reach jitc: {_names(search.found)}", remedy
        )
    if installed:
        text = "installed for its Python, with a CUDA runtime linked in statically"
        return unknown(f"{text}: {_names(installed)}; programs that use these fail", remedy)
    if search.left:
        return unknown(
            f"{search.left} files could not be read in time; none of {search.read} others has a static CUDA runtime",
            remedy,
        )
    return good(f"none of {search.read} files has a CUDA runtime linked in; what they load later was not looked at")


def _names(files: list[Path]) -> str:
    more = f" and {len(files) - _NAME_MOST} more" if len(files) > _NAME_MOST else ""
    return ", ".join(map(str, files[:_NAME_MOST])) + more


def its_python(context: Context) -> Finding | None:
    one = _subject(context)
    if one is None or not one.is_python:
        return None
    its: Python = context.once(python)
    if its.prefix == sys.prefix:
        return good(f"{its.version}, this one")
    ours = ".".join(map(str, sys.version_info[:3]))
    text = f"{its.version} ({one.started}), another one than this ({ours}, {sys.executable})"
    if not its.jitc:
        return bad(f"{text}, without jitc: steps are not seen there", "pip install jitc, in the program's Python")
    return good(f"{text}, and has jitc too")


def its_torch(context: Context) -> Finding | None:
    one = _subject(context)
    if one is None or not one.is_python:
        return None
    its: Python = context.once(python)
    build = torch_build.in_folder(Path(its.torch)) if its.torch else None
    if build is None:
        return unknown(f"{one.started} has no PyTorch", "pip install torch for that Python, if the program needs it")
    found = installation.of_torch(build, installation.supported())
    part = installation.of_native_part(build)
    return found if found.verdict != GOOD or part.verdict == GOOD else part


CHECKS = (
    Check("program", found), Check("rights", rights), Check("loader", loader), Check("needs", needed),
    Check("cuda runtime", static_runtime), Check("its python", its_python), Check("its torch", its_torch),
)  # fmt: skip

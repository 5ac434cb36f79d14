"""Checks of jitc's installation: its libraries, the PyTorch beside it, and the environment that programs get.

Called by: command.py. Promise: PyTorch is not imported, and nothing is built.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

from jitc.client_shim.native_parts import compile, installation, supply, torch_build

from ...backends.base import NoDevice
from ...common import operators, paths
from ..installed import preload
from ..options import CommandError
from ..parser import meant
from ..settings.file import read
from ..settings.resolve import CONFIG, ENVIRONMENT, parsed
from ..settings.setting import SERVICE_SETTINGS
from ..variables import VARIABLES
from . import child
from .check import Check, Context, Finding, bad, good, unknown

#: Beginnings of variables that jitc's own tests set.
_OF_TESTS = ("JITC_TEST_", "JITC_FAKE_")
_LOADED = "import ctypes, sys; [ctypes.CDLL(path) for path in sys.argv[1:]]"


def preloaded(_: Context) -> Finding:
    return of_preloaded(paths.preload_library)


def of_preloaded(library: Callable[[], Path]) -> Finding:
    """library: returns the file, or raises MissingLibrary."""
    try:
        path = library()
    except paths.MissingLibrary as error:
        return bad(str(error), installation.remedy())
    why = preload.refusal(path)
    return bad(why, installation.remedy()) if why else good(f"{path} can be preloaded")


def libraries(_: Context) -> Finding:
    return of_libraries([paths.executor_library, paths.boundaries_library, paths.transport_library])


def of_libraries(each: list[Callable[[], Path]]) -> Finding:
    """each: return the files, or raise MissingLibrary."""
    try:
        found = [str(one()) for one in each]
    except paths.MissingLibrary as error:
        return bad(str(error), installation.remedy())
    done = child.ran_python(_LOADED, *found)
    if done.status:
        return bad(f"a library cannot be loaded: {done.why()}", installation.remedy())
    return good(f"{', '.join(Path(one).name for one in found)} can be loaded")


def torch(_: Context) -> Finding:
    return of_torch(torch_build.installed(), supported())


def of_torch(found: torch_build.TorchBuild | None, supported: str) -> Finding:
    """supported: the releases as a requirement (">=2.6,<2.16"); empty: not known."""
    if found is None:
        return unknown(
            f"no PyTorch in this Python ({sys.executable}); programs with another Python bring their own",
            "pip install 'jitc[torch]', in the Python that runs your program",
        )
    if not supported:
        return unknown(f"{found.version}; jitc does not say which releases it supports", installation.remedy())
    if not is_in(found.minor, supported):
        return bad(f"{found.version}, but {supported} is supported", f"pip install 'torch{supported}'")
    return good(f"{found.version}, {supported} is supported")


def supported() -> str:
    """Returns the requirement on PyTorch that jitc was installed with."""
    try:
        words = metadata.requires("jitc") or []
    except metadata.PackageNotFoundError:
        return ""
    found = next((one for one in words if re.match(r"torch\b", one)), "")
    return ",".join(sorted(re.findall(r"[<>]=?[\d.]+", found.split(";")[0]), reverse=True))


def is_in(minor: str, requirement: str) -> bool:
    """Returns whether a release (2.11) is within a requirement with one lower and one upper bound."""
    release = _numbers(minor)
    for sign, bound in re.findall(r"(>=|<)([\d.]+)", requirement):
        if (release >= _numbers(bound)) != (sign == ">="):
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", text))


def native_part(_: Context) -> Finding | None:
    found = torch_build.installed()
    return None if found is None else of_native_part(found)


def of_native_part(found: torch_build.TorchBuild) -> Finding:
    from ...backends.software import refuse_another_release

    if installation.is_checkout():
        library = operators.library()
        if library is None:
            return bad("this checkout has no native part", installation.remedy())
        try:
            refuse_another_release(library, found.version)
        except NoDevice as error:
            return bad(str(error), installation.remedy())
        return good(f"built in this checkout ({library.parent})")
    return of_supply(found, supply.find)


def of_supply(found: torch_build.TorchBuild, find: Callable[[torch_build.TorchBuild], Path | None]) -> Finding:
    """find: returns the part's folder, None if it must be built; raises CannotBuild, UnsafeStore."""
    try:
        part = find(found)
    except (supply.CannotBuild, supply.UnsafeStore) as error:
        return bad(str(error), "set JITC_CACHE to a folder of your own")
    if part is not None:
        return good(str(part))
    try:
        compile.refuse_without_tools(found)
    except compile.CannotBuild as error:
        return bad(f"no part is for PyTorch {found.version}, and none can be built: {error}", "then: jitc build-torch")
    return unknown(f"none for PyTorch {found.version}: it is built at its first use", "jitc build-torch, beforehand")


def compiler(context: Context) -> Finding:
    """Compiles a file of a few lines: a compiler may be there without its library's headers."""
    uses = "torch.compile on the software device, and " if context.device == "software" else ""
    needed = f"{uses}a native part that must be built needs one"
    try:
        words = compile.compiler()
    except compile.CannotBuild as error:
        text, _, remedy = str(error).partition("; ")
        return unknown(f"{text}: {needed}", remedy)
    done = child.ran([*words, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"], "#include <vector>\n")
    if done.status == 0:
        return good(str(shutil.which(words[0])))
    why = next((line for line in done.errors.splitlines() if "error" in line), done.why())
    return unknown(f"{words[0]} does not compile C++20 ({why}): {needed}", "mend it, or name another one with CXX")


def preload_variable(_: Context) -> Finding:
    return of_preload_variable(os.environ.get("LD_PRELOAD", ""))


def of_preload_variable(value: str) -> Finding:
    words = [one for one in re.split("[ :]", value) if one]
    ours = [one for one in words if Path(one).name == "libjitc_interpose.so"]
    if len(ours) > 1:
        return bad(f"LD_PRELOAD names jitc's library {len(ours)} times: {', '.join(ours)}", "unset LD_PRELOAD")
    if missing := [one for one in words if "/" in one and not Path(one).exists()]:
        return bad(
            f"LD_PRELOAD names {missing[0]}, which does not exist: programs run without it",
            "LD_PRELOAD=$(jitc preload-path)",
        )
    return good("LD_PRELOAD names jitc's library" if ours else "LD_PRELOAD does not name jitc's library yet")


def variables(_: Context) -> Finding:
    return of_variables(os.environ)


def of_variables(environment: Mapping[str, str]) -> Finding:
    settings = {one.variable: one for one in SERVICE_SETTINGS}
    by_name = {one.name: one for one in SERVICE_SETTINGS}
    known = [*settings, *(name for one in VARIABLES for name in one.names if name.startswith("JITC_"))]
    ours = [name for name in sorted(environment) if name.startswith("JITC_") and not name.startswith(_OF_TESTS)]
    wrong = [f"{name} is no variable of jitc's{meant(name, known)}" for name in ours if name not in known]
    said = [(settings[name], ENVIRONMENT, name, environment[name]) for name in ours if name in settings]
    try:
        path = environment.get(CONFIG, "")
        said += [(by_name[name], path, name, text) for name, text in (read(path) if path else {}).items()]
    except CommandError as error:
        wrong.append(str(error))
    for setting, place, name, text in said:
        try:
            parsed(setting, place, name, text) if text or place != ENVIRONMENT else None
        except CommandError as error:
            wrong.append(str(error))
    if wrong:
        return bad("; ".join(wrong), 'unset it, or correct it (docs/cli.md, "Environment variables")')
    return good(f"known: {', '.join(ours)}" if ours else "no variable begins with JITC_")


CHECKS = (
    Check("preloaded", preloaded), Check("libraries", libraries), Check("torch", torch),
    Check("native part", native_part), Check("compiler", compiler), Check("LD_PRELOAD", preload_variable),
    Check("variables", variables),
)  # fmt: skip

"""Makes PyTorch work on a device that jitc serves.

Called by: autoload() (through PyTorch, once CUDA is first used). Promise: every optimizer step is announced as a step
boundary; on the software device the operators of CUDA tensors run in the worker.
"""

from __future__ import annotations

import ctypes
import re
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from jitc.client_shim import graphed_steps, kernel_compilers, known_fixes, wrong_build
from jitc.client_shim.native_parts import installation, supply, torch_build
from jitc.client_shim.native_parts.store import is_of_a_part

_installed = False
LIBRARY = Path(__file__).parent / "lib" / "libjitc_torch.so"


def install(redirect: bool, matrix_products: bool = False, cudnn: bool = False, order: bool = False) -> None:
    """Loads the native part and registers the optimizer hooks, once per process.

    redirect: operators run in the worker (software device); matrix_products: so do matrix products, without cuBLAS;
    cudnn: the service has it and it stays as the program has set it, otherwise it is turned off; order: the service
    checks the order of ops, and needs to know where in the program they come from.
    """
    global _installed
    if _installed:
        return
    native = load()
    if native.jitc_torch_install(redirect + (redirect and matrix_products), int(cudnn)):
        raise RuntimeError(f"jitc: PyTorch cannot be prepared: {native.jitc_torch_message().decode()}")
    if redirect:
        kernel_compilers.refuse_kernels()
    if order:
        libraries = sysconfig.get_path("purelib") + "/"
        native.jitc_torch_follow_sites(str(Path(torch.__file__).parent).encode() + b"/", libraries.encode())
    known_fixes.apply_if_asked()
    known_fixes.remind_at_end()
    if hasattr(torch.cuda._tls, "is_initializing"):
        _track(native)  # PyTorch calls us with the lock that _lazy_call takes
    else:
        torch.cuda._lazy_call(lambda: _track(native))  # type: ignore[no-untyped-call]
    hooks = StepHooks(native)
    register_optimizer_step_pre_hook(hooks.before)
    register_optimizer_step_post_hook(hooks.after)
    graphed_steps.announce(lambda: native.jitc_torch_step_begin(0), native.jitc_torch_step_end)
    _installed = True


def _track(native: ctypes.CDLL) -> None:
    if native.jitc_torch_track():
        reason = native.jitc_torch_message().decode().splitlines()[0]
        print(f"jitc: PyTorch's allocator does not say what is live ({reason}); everything is kept", file=sys.stderr)


def load() -> ctypes.CDLL:
    """Loads the native part; ends the program if there is none for this PyTorch, and none can be built."""
    mine = f"this PyTorch ({torch.__version__})"
    library, remedy = _library(), "run 'make build'" if installation.is_checkout() else installation.remedy()
    if not library.is_file():
        wrong_build.stop(f"{library} is missing: {remedy} with {mine}")
    try:
        native = ctypes.CDLL(str(library))
        native.jitc_torch_built_for.restype = ctypes.c_char_p
        built_for = native.jitc_torch_built_for().decode()
    except (OSError, AttributeError) as error:
        wrong_build.stop(f"{library} does not work with {mine}: {remedy} with it ({error})")
    if not is_of_a_part(library) and _release(torch.__version__) != _release(built_for):
        wrong_build.stop(f"{library} was built for PyTorch {built_for}, and not for {mine}: {remedy} with it")
    native.jitc_torch_message.restype = ctypes.c_char_p
    return native


def _library() -> Path:
    """Returns the checkout's library, in an installation that of the part for this PyTorch, which may take minutes."""
    if LIBRARY.is_file() or installation.is_checkout():
        return LIBRARY
    build = torch_build.in_folder(Path(torch.__file__).parent)
    if build is None:
        wrong_build.stop(f"{Path(torch.__file__).parent} does not say which PyTorch it is: install it again")
    try:
        return supply.provide(build) / LIBRARY.name
    except (supply.CannotBuild, supply.UnsafeStore) as error:
        wrong_build.stop(str(error))


def _release(version: str) -> tuple[str, ...]:
    """Returns the release without the part that names the build: ("2", "11", "0") for 2.11.0+cu130."""
    return tuple(re.findall(r"\d+", version)[:3])


class StepHooks:
    """Turns optimizer steps into step_begin and step_end; a step inside another one is part of it, and the graph's
    launches announce one that is only captured. Threads may make steps at the same time: each is a separate step."""

    def __init__(self, native: Any) -> None:
        self._begin = native.jitc_torch_step_begin
        self._end = native.jitc_torch_step_end
        self._thread = _ThreadSteps()

    def before(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        mine = self._thread
        if graphed_steps.is_capturing():
            mine.outermost = None
            return
        # A step that raised has no post hook: only one that is still running counts.
        if mine.outermost is not None and _is_stepping(mine.outermost):
            mine.nested = True
            return
        known_fixes.remind()
        mine.outermost, mine.nested = optimizer, False
        self._begin(any(callable(one) for one in (*args[1:], *kwargs.values())))

    def after(self, _optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        mine = self._thread
        if mine.outermost is None or (mine.nested and _is_stepping(mine.outermost)):
            return
        mine.outermost = None
        self._end()


class _ThreadSteps(threading.local):
    """The state of one thread: the optimizer whose step is running, and whether others have stepped inside it."""

    outermost: torch.optim.Optimizer | None = None
    nested = False


def _is_stepping(optimizer: torch.optim.Optimizer) -> bool:
    """Returns whether a step() of the optimizer is on the call stack, besides the one that calls the hook."""
    frame = sys._getframe(2).f_back
    while frame is not None:
        if frame.f_code.co_name in ("step", "wrapper") and any(value is optimizer for value in frame.f_locals.values()):
            return True
        frame = frame.f_back
    return False

"""Workarounds for known defects of PyTorch, applied on request (`jitc run --known-fixes`).

Called by: torch_device.py, once CUDA is first used, and its optimizer hooks. Promises: PyTorch is unchanged unless
JITC_KNOWN_FIXES=1; a program that uses an affected part gets one line, on rank 0, that there is a workaround: at its
first optimizer step, or at its end if it makes none. Fixes that programs cannot do without are not here
(attempt_stores.py).

There is one, for FSDP2: at the end of a backward pass it waits for an unused all-gather (of an unneeded prefetch, as
in the first backward pass after an evaluation) with `torch.accelerator.current_stream()`, and that waits for nothing
if the event is a `torch.cuda.Event`. The buffer is reused while the all-gather still runs. The workaround waits on the
stream of the device's own kind first.
"""

from __future__ import annotations

import atexit
import importlib
import inspect
import os
import sys
from typing import Any

import torch

VARIABLE = "JITC_KNOWN_FIXES"
#: What releases with the defect have in FSDPParamGroup.finalize_backward (2.11.0 was run).
DEFECT = "torch.accelerator.current_stream().wait_event("
_MODULE = "torch.distributed.fsdp._fully_shard._fsdp_param_group"

_SHARDING = "torch.distributed.fsdp._fully_shard._fully_shard"

_fixed = _looked = _told = False


def apply_if_asked() -> None:
    """Changes FSDP2 if this release has the defect and the environment requests it."""
    global _fixed
    if _fixed or os.environ.get(VARIABLE) != "1" or not torch.distributed.is_available():
        return
    try:
        group = _group(importlib.import_module(_MODULE))
    except ImportError:  # a release without FSDP2, or with another one
        return
    if not affected(group):
        return
    group.finalize_backward = _waiting(group.finalize_backward)
    _fixed = True


def affected(group: Any) -> bool:
    """Returns whether this FSDPParamGroup has the defect."""
    try:
        return DEFECT in inspect.getsource(group.finalize_backward)
    except (AttributeError, OSError, TypeError):  # another FSDP2, or one without its source
        return False


def remind_at_end() -> None:
    """Checks once more when the program ends: it may make no optimizer step, or shard after its first one."""
    atexit.register(remind, last=True)


def remind(last: bool = False) -> None:
    """Prints once that there is a workaround, in a program that shards with FSDP2. Called at each optimizer step."""
    global _looked, _told
    if _told or (_looked and not last):
        return
    _looked = True
    if not _fixed and os.environ.get("RANK", "0") == "0" and _uses_fsdp2() and affected(_group(sys.modules[_MODULE])):
        _told = True
        print(
            f"jitc: FSDP2 of PyTorch {torch.__version__} has a race that can give wrong results after an evaluation; "
            f"`jitc run --known-fixes`, or {VARIABLE}=1, applies the remedy (docs/guarantees.md)",
            file=sys.stderr,
        )


def _group(module: Any) -> Any:
    return getattr(module, "FSDPParamGroup", None)


def _waiting(finalize_backward: Any) -> Any:
    def finalize(self: Any) -> None:
        result = self._all_gather_result
        if result is not None and result.all_gather_event is not None:
            self.device_handle.current_stream().wait_event(result.all_gather_event)
        finalize_backward(self)

    return finalize


def _uses_fsdp2() -> bool:
    """Returns whether a module was ever passed to fully_shard(), which keeps the classes that it makes; imports
    nothing."""
    return _MODULE in sys.modules and bool(getattr(sys.modules.get(_SHARDING), "cls_to_fsdp_cls", None))

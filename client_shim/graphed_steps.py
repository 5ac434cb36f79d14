"""Optimizer steps inside CUDA graphs: they happen when the graph is launched, not when it is captured.

Called by: torch_device.py (StepHooks), on every kind of device. Promises: each replay of a graph in which a step of an
optimizer was captured is announced as a step, from before the launch until after it; other graphs are unchanged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

_capturing = threading.local()
#: Of a graph: an optimizer's step is in it.
_MARK = "_jitc_has_step"


def is_capturing() -> bool:
    """Returns whether an optimizer that steps now only becomes part of a graph, and records that."""
    graph = getattr(_capturing, "graph", None)
    if graph is None:
        return False
    setattr(graph, _MARK, True)
    return True


def announce(begin: Callable[[], None], end: Callable[[], None]) -> None:
    """Makes replays call begin before and end after they are launched. Called once per process."""
    graphs: Any = torch.cuda.CUDAGraph
    capture_begin, capture_end, replay = graphs.capture_begin, graphs.capture_end, graphs.replay

    def begin_capture(self: Any, *arguments: Any, **keywords: Any) -> None:
        capture_begin(self, *arguments, **keywords)
        _capturing.graph = self

    def end_capture(self: Any) -> None:
        _capturing.graph = None
        capture_end(self)

    def launch(self: Any) -> None:
        if not getattr(self, _MARK, False):
            return replay(self)  # type: ignore[no-any-return]
        begin()
        replay(self)
        end()
        return None

    for name, function in (("capture_begin", begin_capture), ("capture_end", end_capture), ("replay", launch)):
        function.__doc__ = getattr(graphs, name).__doc__
        setattr(graphs, name, function)

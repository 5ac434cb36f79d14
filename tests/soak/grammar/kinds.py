"""The grammar: kinds of parts, and what can be chosen of each.

Called by: model.py, draw.py, shrink.py. The first of the values is the simplest one, to which a program is shrunk. To
add a value or a kind, add it here and to script/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Values = tuple[str | int, ...]
OPTIMIZERS: Values = (
    "sgd", "momentum", "adam", "adamw", "foreach-sgd", "foreach-adamw", "fused-sgd", "fused-adam", "rmsprop",
)  # fmt: skip

FEW: Values = ("sgd", "momentum", "adamw", "fused-adam")


@dataclass(frozen=True)
class Kind:
    """How many ranks it takes at least, how often it is drawn, and its choices."""

    least: int
    weight: int
    choices: Mapping[str, Values]


KINDS: dict[str, Kind] = {
    # A model is trained: how its ranks learn together, how many steps of its own each makes.
    "learn": Kind(1, 10, {
        "model": ("linear", "norm", "batch-norm", "dropout", "conv", "embedding", "flash", "efficient", "math"),
        "optimizer": OPTIMIZERS,
        "optimizers": (1, 2, 3),
        "together": ("alone", "ddp", "averaged", "local", "join"),
        "steps": ("equal", "first-more", "last-more", "first-only"),
        "accumulate": (1, 2, 3),
        "loss": ("end", "each", "scaled"),
        "data": ("plain", "pinned", "workers", "workers-pinned", "workers-kept", "device"),
        "stream": ("default", "side"),
        "clip": ("no", "yes"),
        "average": ("no", "yes"),
    }),
    # A stage on each rank, with an optimizer of its own.
    "pipeline": Kind(2, 3, {
        "optimizer": FEW, "batches": (1, 2, 3), "steps": ("equal", "last-seldom", "first-seldom"),
    }),
    # The last rank never steps: it gets weights, tries them out, and gives back what came of it.
    "actor": Kind(2, 2, {"optimizer": FEW, "transfer": ("broadcast", "send")}),
    # State that goes through collectives, without an optimizer.
    "collect": Kind(2, 3, {
        "operation": (
            "all-reduce", "broadcast", "all-gather", "reduce-scatter", "all-to-all", "reduce", "exchange", "barrier",
        ),
        "waits": ("at once", "later"),
    }),
    # Messages of a thread with a communicator of its own, while the others' work goes on.
    "talk": Kind(2, 2, {"operation": ("all-reduce", "exchange"), "joins": ("before", "beside")}),
    # Messages that are under way from one iteration to the next.
    "ahead": Kind(2, 1, {"sends": ("at once", "later")}),
    # A communicator that is made and destroyed each time.
    "group": Kind(2, 2, {"made": ("new", "split")}),
    # Attention by name, forward and backward; in pieces as context parallel does it.
    "attend": Kind(1, 2, {"kernel": ("flash", "efficient"), "pieces": (1, 2)}),
    "evaluate": Kind(1, 2, {"model": ("linear", "batch-norm", "dropout"), "precision": ("full", "half"),
                            "reads": ("end", "each")}),
    # Trains, saves, goes on, and comes back to what it saved.
    "checkpoint": Kind(1, 2, {"optimizer": FEW, "to": ("memory", "file", "device")}),
    # A thread beside the others' work.
    "thread": Kind(1, 2, {"work": ("copy", "evaluate"), "stream": ("default", "side")}),
    # Models that are stepped in threads of their own: when these threads run, and who makes which step.
    "threads": Kind(1, 5, {
        "steps": ("joined", "turns", "beside", "overlap", "handed", "backward", "hooks"),
        "model": ("linear", "norm", "batch-norm", "conv", "embedding"),
        "optimizer": FEW,
        "count": (2, 3),
        "stream": ("default", "own"),
        "gpus": ("one", "two"),
        "together": ("alone", "averaged"),
        "loss": ("end", "each"),
    }),
    # A child made by fork that computes on the CPU and ends; the rank takes what it gave.
    "child": Kind(1, 5, {
        "made": ("fork", "process", "executor", "subprocess"),
        "lives": ("inside", "beside", "late", "early"),
        "gives": ("pipe", "pinned"),
        "ends": ("well", "killed"),
        "thread": ("main", "other"),
    }),
    "streams": Kind(1, 2, {"count": (2, 3, 4)}),
    # Memory that changes outside of optimizer steps, and where it comes from.
    "buffer": Kind(1, 4, {"memory": ("caching", "off", "expandable", "pool"), "grows": ("no", "yes")}),
    # Bytes that leave for pinned memory, and come back an iteration later.
    "offload": Kind(1, 2, {"memory": ("pinned", "pageable"), "sizes": ("small", "large")}),
    # From here on in the iteration all memory comes from elsewhere, in some iterations.
    "allocator": Kind(1, 2, {"turned": ("off", "expandable"), "iterations": ("odd", "late", "early")}),
    # A captured graph.
    "graph": Kind(1, 2, {"captured": ("pass", "step")}),
}  # fmt: skip

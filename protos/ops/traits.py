"""What the executor must know of each device op, beside its layout.

Each op has one line, which the generator turns into ``generated_op_traits.h``. Called by: ``generator.py``, tests.
Promises: every op has its line, and a line that contradicts the op's description is an error when the code is
generated. So it cannot be forgotten that a new op is also a copy, has a result that steers the program, or becomes part
of a graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from jitc.ops.op import Op

#: Name of a trait -> its values: enumerators of the C++ enum of that name, the neutral one first.
ENUMS: dict[str, tuple[str, ...]] = {
    # How operands and payload must fit together; checked before the op is used (journal/wire.cpp).
    "Check": (
        "none", "live_blocks", "items", "copy_bytes", "copy_size", "image_size", "image_part", "name", "launch",
        "blas_slots", "description", "scaled_description", "tensors", "operator_call",
    ),
    # Who takes it: the device, the node's module images, or the step that it marks.
    "Taker": ("device", "images", "live_set", "step_begin", "boundary"),
    # What it means for an optimizer step that contains it: healthy ranks alone cannot finish a step with answers or
    # allocations, and a step with collectives needs all ranks.
    "Window": ("none", "collective", "launched_collective", "allocation", "answer"),
    # The result of an op that a roll-forward skips, where it is not known yet: unknown without running the op, success,
    # or whether the node has an image.
    "Skipped": ("must_run", "succeeds", "asks_images"),
    # What it creates: known as soon as the device has the op, or when all ranks have come. A failed op is not tried
    # again in a replay, except the end of a capture, which must come.
    "Making": ("nothing", "in_place", "with_others", "in_place_and_again"),
    # The point at which a fault may be asked for.
    "Point": ("none", "collective", "copy", "boundary"),
    # What its resource counts towards (limits.h).
    "Limit": (
        "none", "streams", "events", "communicators", "modules", "functions", "graphs", "blas_handles", "dnn_plans",
    ),
    # What the host reads of the device's memory: bytes of which nothing is known, or elements whose type it names.
    "Reads": ("nothing", "bytes", "elements"),
    # How large a result may be: a few words, as many bytes as are copied, any size.
    "ResultSize": ("small", "copied", "any"),
    # What has run when it is answered with success: nothing that is known, its stream's ops up to it, all ops up to it.
    "Shows": ("nothing", "stream", "device"),
}  # fmt: skip


@dataclass(frozen=True)
class Traits:
    """Values are those of ENUMS; a field without a default differs too much between ops to be guessed."""

    check: str
    window: str
    capturable: bool
    """It can become part of a graph; all else has no place in one, or is refused there."""
    point: str = "none"
    skipped: str = "must_run"
    making: str = "nothing"
    taker: str = "device"
    limit: str = "none"
    reads: str = "nothing"
    result_size: str = "small"
    shows: str = "nothing"
    queued: bool = False
    """Its stream runs it when it is its turn; all else is done where the device is given it."""
    images: bool = False
    """It brings, uses or releases a module image or a graph, which the node keeps as long as it is needed."""
    result_is_state: bool = False
    """Its answer belongs to the resource that it created."""


def _plain(check: str = "none", window: str = "none", **more: str | bool) -> Traits:
    return Traits(check, window, False, **more)  # type: ignore[arg-type]


def _captured(check: str = "none", window: str = "none", **more: str | bool) -> Traits:
    return Traits(check, window, True, **more)  # type: ignore[arg-type]


TRAITS: dict[str, Traits] = {
    "step_begin": _plain(taker="step_begin"),
    "boundary": _plain("live_blocks", taker="boundary", point="boundary"),
    "live_set": _plain("live_blocks", taker="live_set"),
    "allocate": _plain(window="allocation", skipped="succeeds", making="in_place"),
    "free": _plain(window="allocation"),
    "copy_h2d": _plain("copy_bytes", point="copy", queued=True),
    "copy_d2h": _plain(
        "copy_size", "answer", point="copy", reads="elements", result_size="copied", shows="stream", queued=True
    ),
    "copy_d2d": _captured(point="copy", queued=True),
    "copy_2d": _captured(point="copy", queued=True),
    "fill": _captured(queued=True),
    "memory_info": _plain(window="answer"),
    "copy_h2d_pinned": _plain("copy_size", queued=True),
    "copy_d2h_pinned": _plain("copy_size", "answer", point="copy", reads="bytes", shows="stream", queued=True),
    "host_register": _plain(skipped="succeeds", making="in_place"),
    "host_unregister": _plain(skipped="succeeds", making="in_place"),
    "memory_hold": _plain(window="allocation", skipped="succeeds", making="in_place"),
    "memory_map": _plain(window="allocation"),
    "memory_drop": _plain(window="allocation"),
    "stream_create": _plain(limit="streams"),
    "stream_destroy": _plain(),
    "stream_synchronize": _plain(skipped="succeeds", shows="stream"),
    "device_synchronize": _plain(skipped="succeeds", shows="device"),
    "event_create": _plain(limit="events"),
    "event_destroy": _plain(),
    "event_record": _captured(queued=True),
    "event_wait": _captured(queued=True),
    "event_synchronize": _plain(skipped="succeeds"),
    "event_elapsed": _plain(window="answer"),
    "operator_call": _plain("operator_call", queued=True),
    "operator_query": _plain("operator_call", "answer", result_size="any", shows="stream", queued=True),
    "kernel_launch": _captured("launch", queued=True),
    "communicator_create": _plain(window="collective", making="with_others", limit="communicators"),
    "communicator_split": _plain(window="collective", making="with_others", limit="communicators"),
    "communicator_destroy": _plain(),
    "collective": _captured("items", "collective", point="collective", queued=True),
    "matmul": _captured(queued=True),
    "blas_create": _plain(limit="blas_handles"),
    "blas_destroy": _plain(),
    "blas_set": _captured(),
    "blas_call": _captured("blas_slots", queued=True),
    "lt_heuristic": _plain("description", "answer"),
    "lt_matmul": _captured("scaled_description", queued=True),
    "image_query": _plain("image_size", skipped="asks_images", taker="images", images=True),
    "image_part": _plain("image_part", taker="images", images=True),
    "module_load": _plain("image_size", "answer", making="in_place", limit="modules", images=True),
    "module_unload": _plain(images=True),
    "function_get": _plain("name", "answer", making="in_place", limit="functions"),
    "function_set": _plain(window="answer", making="in_place"),
    "function_query": _plain(window="answer"),
    "variable_get": _plain("name", "answer", making="in_place", limit="functions", result_is_state=True),
    "tensor_map": _plain(window="answer"),
    "capture_begin": _captured(),
    "capture_end": _captured(window="answer", making="in_place_and_again", limit="graphs", images=True),
    "graph_destroy": _plain(images=True),
    "graph_instantiate": _plain(window="answer", making="in_place", limit="graphs"),
    "graph_launch": _captured(window="launched_collective", queued=True),
    "executable_destroy": _plain(images=True),
    "dnn_ask": _plain("description", "answer", result_size="any"),
    "dnn_call": _captured("description", queued=True),
    "dnn_try": _plain("description", "answer", queued=True),
    "dnn_plan_load": _plain("image_size", limit="dnn_plans", images=True),
    "dnn_plan_drop": _plain(images=True),
    "dnn_execute": _captured("tensors", queued=True),
    "dnn_execute_try": _plain("tensors", "answer", queued=True),
}

#: Rules of operands alone: the op has no payload.
_WITHOUT_PAYLOAD = ("none", "copy_size", "image_size")


def complaints(ops: tuple[Op, ...], table: dict[str, Traits]) -> list[str]:
    """Traits that are missing in the table, or contradict an op's description."""
    names = {op.name for op in ops}
    found = [f"{name}: no such op" for name in table if name not in names]
    for op in ops:
        traits = table.get(op.name)
        found += [f"{op.name}: {text}" for text in (_wrong(op, traits) if traits else ["has no traits"])]
    return found


def _wrong(op: Op, traits: Traits) -> list[str]:
    values = {enum: getattr(traits, member) for enum, member in MEMBERS.items()}
    return [
        text
        for text, wrong in {
            **{f"{value} is no {enum}": value not in ENUMS[enum] for enum, value in values.items()},
            "a payload needs a check, and a check of a payload needs one": bool(op.payload)
            == (traits.check in _WITHOUT_PAYLOAD),
            "nothing waits for its result": not op.waits
            and (traits.skipped, traits.result_size, traits.reads, traits.shows)
            != ("must_run", "small", "nothing", "nothing"),
            "a resource that is answered says how it is made": (op.resource and op.waits)
            != (traits.making != "nothing"),
            "a result with a content steers the program": bool(op.result and op.waits)
            and (traits.window, traits.skipped) == ("none", "must_run"),
        }.items()
        if wrong
    ]


#: C++ enum -> field of Traits.
MEMBERS = {
    "Check": "check", "Taker": "taker", "Window": "window", "Skipped": "skipped", "Making": "making",
    "Point": "point", "Limit": "limit", "Reads": "reads", "ResultSize": "result_size", "Shows": "shows",
}  # fmt: skip

"""The facts that the executor must know about each device op, besides its layout.

Each op has one line, which the generator turns into ``generated_op_traits.h``. Called by: ``generator.py``, tests.
Promises: every op has its line, and a line that contradicts the op's description is an error when the code is
generated. So no one can overlook that a new op is also a copy, has a result that steers the program, or becomes part of
a graph.
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
    # Who takes it: the device, the node's module images, the step that it marks, or a replay.
    "Taker": ("device", "images", "live_set", "step_begin", "boundary", "replay"),
    # What it means for an optimizer step that contains it: healthy ranks alone cannot finish a step with answers or
    # allocations, and a step with collectives needs all ranks.
    "Window": ("none", "collective", "launched_collective", "allocation", "answer"),
    # The result of an op that a roll-forward skips, where it is not known yet: unknown without running the op, success,
    # or whether the node has an image.
    "Skipped": ("must_run", "succeeds", "asks_images"),
    # What it creates: complete when the device has taken the op (synchronous), or when all ranks have come. A failed op
    # is not tried again in a replay, except the end of a capture, which must come. The last one takes a resource away
    # and is answered, like those with others, when that is over.
    "Making": ("nothing", "synchronous", "with_others", "synchronous_and_again", "taking_away"),
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
    # What is known to have run when it has succeeded: nothing beside itself, all that its stream was given before, all
    # before the record of its event, all that the device was given before.
    "Shows": ("nothing", "stream", "event", "device"),
}  # fmt: skip


@dataclass(frozen=True)
class Traits:
    """The traits of an op, with values of ENUMS; a field without a default differs too much between ops to be
    guessed."""

    check: str
    window: str
    capturable: bool
    """It can become part of a graph; all else has no place in one, or is refused there."""
    on_stream: bool
    """Work of its stream: runs after what the stream was given before, and in order with the legacy default stream. All
    else is done aside, and the stream's progress merely passes it."""
    point: str = "none"
    skipped: str = "must_run"
    making: str = "nothing"
    taker: str = "device"
    limit: str = "none"
    reads: str = "nothing"
    result_size: str = "small"
    shows: str = "nothing"
    images: bool = False
    """It brings, uses or releases a module image or a graph, which the node keeps as long as it is needed."""
    result_is_state: bool = False
    """Its answer belongs to the resource that it created."""


def _aside(check: str = "none", window: str = "none", capturable: bool = False, **more: str | bool) -> Traits:
    return Traits(check, window, capturable, False, **more)  # type: ignore[arg-type]


def _work(check: str = "none", window: str = "none", capturable: bool = False, **more: str | bool) -> Traits:
    return Traits(check, window, capturable, True, **more)  # type: ignore[arg-type]


def _captured(check: str = "none", window: str = "none", **more: str | bool) -> Traits:
    return _work(check, window, True, **more)


TRAITS: dict[str, Traits] = {
    "step_begin": _aside(taker="step_begin"),
    "boundary": _aside("live_blocks", taker="boundary", point="boundary"),
    "live_set": _aside("live_blocks", taker="live_set"),
    "known": _aside(taker="replay"),
    "order_site": _aside("name"),
    "order_known": _aside(),
    "order_host": _aside(),
    "order_unasked": _aside(),
    "allocate": _aside(window="allocation", skipped="succeeds", making="synchronous"),
    "free": _aside(window="allocation"),
    "copy_h2d": _work("copy_bytes", point="copy"),
    "copy_d2h": _work("copy_size", "answer", point="copy", reads="elements", result_size="copied", shows="stream"),
    "copy_d2d": _captured(point="copy"),
    "copy_2d": _captured(point="copy"),
    "copy_3d": _captured(point="copy"),
    "fill": _captured(),
    "memory_info": _aside(window="answer"),
    "copy_h2d_pinned": _work("copy_size"),
    "copy_d2h_pinned": _work("copy_size", "answer", point="copy", reads="bytes", shows="stream"),
    "host_register": _aside(skipped="succeeds", making="synchronous"),
    "host_unregister": _aside(skipped="succeeds", making="synchronous"),
    "memory_hold": _aside(window="allocation", skipped="succeeds", making="synchronous"),
    "memory_map": _aside(window="allocation"),
    "memory_drop": _aside(window="allocation"),
    "stream_create": _aside(limit="streams"),
    "stream_destroy": _aside(),
    "stream_synchronize": _aside(skipped="succeeds", shows="stream"),
    "device_synchronize": _aside(skipped="succeeds", shows="device"),
    "event_create": _aside(limit="events"),
    "event_destroy": _aside(),
    "event_record": _captured(),
    "event_wait": _captured(),
    "event_synchronize": _aside(skipped="succeeds", shows="event"),
    "event_elapsed": _aside(window="answer"),
    "operator_call": _captured("operator_call"),
    "operator_query": _work("operator_call", "answer", result_size="any", shows="stream"),
    "kernel_launch": _captured("launch"),
    "communicator_create": _aside(window="collective", making="with_others", limit="communicators"),
    "communicator_split": _aside(window="collective", making="with_others", limit="communicators"),
    "communicator_destroy": _aside(),
    "communicator_abort": _aside(window="collective", making="taking_away", result_size="any"),
    "collective": _captured("items", "collective", point="collective"),
    "matmul": _captured(),
    "blas_create": _aside(limit="blas_handles"),
    "blas_destroy": _aside(),
    "blas_set": _aside(capturable=True),
    "blas_call": _captured("blas_slots"),
    "lt_heuristic": _aside("description", "answer"),
    "lt_matmul": _captured("scaled_description"),
    "library_call": _captured("description"),
    "library_ask": _aside("description", "answer", result_size="any"),
    "image_query": _aside("image_size", skipped="asks_images", taker="images", images=True),
    "image_part": _aside("image_part", taker="images", images=True),
    "module_load": _aside("image_size", "answer", making="synchronous", limit="modules", images=True),
    "module_unload": _aside(images=True),
    "function_get": _aside("name", "answer", making="synchronous", limit="functions"),
    "function_set": _aside(window="answer", making="synchronous"),
    "function_query": _aside(window="answer"),
    "variable_get": _aside("name", "answer", making="synchronous", limit="functions", result_is_state=True),
    "variable_alias": _aside("name", "answer", making="synchronous", limit="functions", result_is_state=True),
    "tensor_map": _aside(window="answer"),
    "limit_set": _aside(window="answer", making="synchronous"),
    "capture_begin": _aside(capturable=True),
    "capture_end": _aside(
        capturable=True, window="answer", making="synchronous_and_again", limit="graphs", images=True
    ),
    "graph_destroy": _aside(images=True),
    "graph_instantiate": _aside(window="answer", making="synchronous", limit="graphs"),
    "graph_launch": _captured(window="launched_collective"),
    "executable_destroy": _aside(images=True),
    "dnn_ask": _work("description", "answer", result_size="any"),
    "dnn_call": _captured("description"),
    "dnn_try": _work("description", "answer"),
    "dnn_plan_load": _aside("image_size", limit="dnn_plans", images=True),
    "dnn_plan_drop": _aside(images=True),
    "dnn_execute": _captured("tensors"),
    "dnn_execute_try": _work("tensors", "answer"),
}

#: Rules of operands alone: the op has no payload.
_WITHOUT_PAYLOAD = ("none", "copy_size", "image_size")


def complaints(ops: tuple[Op, ...], table: dict[str, Traits]) -> list[str]:
    """Returns traits that are missing in the table, or contradict an op's description."""
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
    "Point": "point", "Limit": "limit", "Reads": "reads", "ResultSize": "result_size",
    "Shows": "shows",
}  # fmt: skip

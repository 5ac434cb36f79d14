"""The traits of device ops say what the executor's own lists said before there were any, and say it of every op."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jitc.ops import generator
from jitc.ops.table import OPS
from jitc.ops.traits import ENUMS, MEMBERS, TRAITS, Traits, complaints

#: (field, value) -> the ops that the lists of the executor had, each list whole.
LISTS: dict[tuple[str, object], str] = {
    ("check", "live_blocks"): "boundary live_set",
    ("check", "items"): "collective",
    ("check", "copy_bytes"): "copy_h2d",
    ("check", "copy_size"): "copy_d2h copy_h2d_pinned copy_d2h_pinned",
    ("check", "image_size"): "image_query module_load dnn_plan_load",
    ("check", "image_part"): "image_part",
    ("check", "name"): "function_get variable_get variable_alias order_site",
    ("check", "launch"): "kernel_launch",
    ("check", "blas_slots"): "blas_call",
    ("check", "description"): "lt_heuristic library_call library_ask dnn_ask dnn_call dnn_try",
    ("check", "scaled_description"): "lt_matmul",
    ("check", "tensors"): "dnn_execute dnn_execute_try",
    ("check", "operator_call"): "operator_call operator_query",
    ("taker", "live_set"): "live_set",
    ("taker", "step_begin"): "step_begin",
    ("taker", "boundary"): "boundary",
    ("taker", "images"): "image_query image_part",
    ("taker", "replay"): "known",
    ("window", "collective"): "collective communicator_create communicator_split communicator_abort",
    ("window", "launched_collective"): "graph_launch",
    ("window", "allocation"): "allocate free memory_hold memory_map memory_drop",
    ("window", "answer"): (
        "copy_d2h copy_d2h_pinned operator_query memory_info event_elapsed module_load function_get function_set"
        " function_query tensor_map variable_get variable_alias capture_end graph_instantiate lt_heuristic library_ask"
        " dnn_ask dnn_try dnn_execute_try limit_set"
    ),
    ("skipped", "asks_images"): "image_query",
    ("skipped", "succeeds"): (
        "allocate memory_hold host_register host_unregister stream_synchronize device_synchronize event_synchronize"
    ),
    ("making", "synchronous"): (
        "allocate host_register host_unregister memory_hold module_load function_get function_set variable_get"
        " variable_alias limit_set graph_instantiate"
    ),
    ("making", "synchronous_and_again"): "capture_end",
    ("making", "with_others"): "communicator_create communicator_split",
    ("making", "taking_away"): "communicator_abort",
    ("point", "collective"): "collective",
    ("point", "copy"): "copy_h2d copy_d2h copy_d2h_pinned copy_d2d copy_2d copy_3d",
    ("point", "boundary"): "boundary",
    ("limit", "streams"): "stream_create",
    ("limit", "events"): "event_create",
    ("limit", "communicators"): "communicator_create communicator_split",
    ("limit", "modules"): "module_load",
    ("limit", "functions"): "function_get variable_get variable_alias",
    ("limit", "graphs"): "capture_end graph_instantiate",
    ("limit", "blas_handles"): "blas_create",
    ("limit", "dnn_plans"): "dnn_plan_load",
    ("reads", "bytes"): "copy_d2h_pinned",
    ("reads", "elements"): "copy_d2h",
    ("result_size", "any"): "operator_query library_ask dnn_ask communicator_abort",
    ("result_size", "copied"): "copy_d2h",
    ("shows", "stream"): "copy_d2h copy_d2h_pinned operator_query stream_synchronize",
    ("shows", "event"): "event_synchronize",
    ("shows", "device"): "device_synchronize",
    ("on_stream", True): (
        "copy_h2d copy_h2d_pinned copy_d2h copy_d2h_pinned copy_d2d copy_2d copy_3d fill event_record event_wait"
        " operator_call operator_query kernel_launch collective matmul blas_call lt_matmul library_call dnn_ask"
        " dnn_call dnn_try dnn_execute dnn_execute_try graph_launch"
    ),
    ("capturable", True): (
        "capture_begin capture_end copy_d2d copy_2d copy_3d fill event_record event_wait operator_call kernel_launch"
        " collective matmul blas_set blas_call lt_matmul library_call dnn_call dnn_execute graph_launch"
    ),
    ("images", True): (
        "image_query image_part module_load module_unload graph_destroy executable_destroy capture_end dnn_plan_load"
        " dnn_plan_drop"
    ),
    ("result_is_state", True): "variable_get variable_alias",
}
NAMES = [op.name for op in OPS]


@pytest.mark.parametrize("name", NAMES)
def test_an_op_is_what_the_lists_said(name: str) -> None:
    said = {field: value for (field, value), ops in LISTS.items() if name in ops.split()}
    enums = {field: ENUMS[enum][0] for enum, field in MEMBERS.items()}
    neutral: dict[str, object] = {
        **enums,
        "capturable": False,
        "on_stream": False,
        "images": False,
        "result_is_state": False,
    }
    assert vars(TRAITS[name]) == {**neutral, **said}


def test_the_lists_name_each_value_and_known_ops_alone() -> None:
    assert {name for ops in LISTS.values() for name in ops.split()} <= set(NAMES)
    values = {(field, value) for enum, field in MEMBERS.items() for value in ENUMS[enum][1:]}
    assert values <= set(LISTS)


def test_an_op_without_traits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    less = {name: traits for name, traits in TRAITS.items() if name != "fill"}
    monkeypatch.setattr(generator, "TRAITS", less)
    with pytest.raises(ValueError, match="fill: has no traits"):
        generator.traits_header()
    assert complaints(OPS, {**TRAITS, "refill": TRAITS["fill"]}) == ["refill: no such op"]


@pytest.mark.parametrize(
    ("name", "wrong", "text"),
    [
        ("fill", {"check": "perhaps"}, "perhaps is no Check"),
        ("copy_h2d", {"check": "none"}, "a payload needs a check"),
        ("fill", {"check": "items"}, "a payload needs a check"),
        ("fill", {"skipped": "succeeds"}, "nothing waits"),
        ("fill", {"result_size": "any"}, "nothing waits"),
        ("fill", {"shows": "stream"}, "nothing waits"),
        ("allocate", {"making": "nothing"}, "says how it is made"),
        ("memory_info", {"window": "none"}, "steers the program"),
    ],
)
def test_traits_that_contradict_the_op(name: str, wrong: dict[str, str], text: str) -> None:
    traits: Traits = replace(TRAITS[name], **wrong)  # type: ignore[arg-type]
    assert any(text in one for one in complaints(OPS, {**TRAITS, name: traits}))

"""cuDNN's graph API: what is sent with a descriptor, what is asked once."""

from __future__ import annotations

from ctypes import c_int64, c_uint64
from typing import Any

import pytest
from interpose_call_ops import Call, Object, only, sent
from interpose_dnn import (
    BAD_PARAM,
    CONFIG,
    FLOAT,
    GRAPH,
    HALF,
    HEURISTICS,
    INTERNAL_ERROR,
    NOT_SUPPORTED,
    OPERATION,
    PLAN,
    SUCCESS,
    TENSOR,
    Dnn,
    Value,
    enum,
    flag,
    i64,
    integers,
    nodes,
    unique,
)  # fmt: skip

from jitc.ops import generated_names as generated_ops

NUMBER, CHILD = 3, 15


def made(kind: int, *attributes: tuple[int, Value, Any]) -> Object:
    """A finalized descriptor as it travels; the last of each: its elements."""
    sets = (
        Call("cudnnBackendSetAttribute", (("number", name), ("number", value.type), ("number", value.count), elements))
        for name, value, elements in attributes
    )
    first, last = Call("cudnnBackendCreateDescriptor", (("number", kind),)), Call("cudnnBackendFinalize", ())
    return Object("backend", (first, *sets, last))


def plain(name: int, value: Value) -> tuple[int, Value, Any]:
    return name, value, ("array", value.content)


def mentions(name: int, *places: int) -> tuple[int, Value, Any]:
    return name, Value(CHILD, len(places), b""), ("objects", places)


def test_a_descriptor_is_tried_when_it_is_finalized(dnn: Dnn) -> None:
    values = {901: enum(HALF), 902: integers(2, unique(), 5), 908: flag(True)}
    dnn.node(TENSOR, values)
    op = only(dnn.gpu)
    assert (op.name, op.stream, op.call) == ("dnn_ask", 0, None)
    assert op.objects == (made(TENSOR, *(plain(name, value) for name, value in values.items())),)
    dnn.node(TENSOR, values)
    assert dnn.names() == []  # the same again
    dnn.node(TENSOR, values | {902: integers(2, unique(), 5)})
    assert dnn.names() == ["dnn_ask"]


def test_what_is_mentioned_comes_first_and_once(dnn: Dnn) -> None:
    size = unique()
    x, y = dnn.graph_tensor(1, size), dnn.graph_tensor(2, size)
    first = dnn.node(OPERATION, {751: nodes(x, x), 753: nodes(y)})
    second = dnn.node(OPERATION, {751: nodes(y), 753: nodes(x)})
    for gone in (x, y):
        dnn.ok("cudnnBackendDestroyDescriptor", gone)
    dnn.gpu.take()
    dnn.node(GRAPH, {800: dnn.handle_value, 801: nodes(first, second)})
    tensors = (
        made(TENSOR, *(plain(*one) for one in ((901, enum(FLOAT)), (902, integers(size)), (906, integers(uid)))))
        for uid in (1, 2)
    )
    assert only(dnn.gpu).objects == (
        *tensors,
        made(OPERATION, mentions(751, 0, 0), mentions(753, 1)),
        made(OPERATION, mentions(751, 1), mentions(753, 0)),
        made(GRAPH, (800, Value(0, 1, b""), ("handle", 0)), mentions(801, 2, 3)),
    )


def test_an_attribute_set_again_is_sent_once(dnn: Dnn) -> None:
    one, last = dnn.node(TENSOR, {902: integers(7), 906: integers(1)}, finalized=False), integers(unique(), 2)
    assert dnn.set(one, 902, last) == SUCCESS
    dnn.ok("cudnnBackendFinalize", one)
    assert only(dnn.gpu).objects == (made(TENSOR, plain(906, integers(1)), plain(902, last)),)


@pytest.mark.parametrize(("type_", "size"), [(2, 1), (3, 8), (4, 4), (5, 8), (23, 4), (24, 1), (26, 16), (30, 4)])
def test_elements_are_of_their_types_size(dnn: Dnn, type_: int, size: int) -> None:
    number, content = integers(unique()), bytes(range(1, 1 + 3 * size))
    dnn.node(TENSOR, {902: number, 999: Value(type_, 3, content + b"behind")})
    assert only(dnn.gpu).objects == (made(TENSOR, plain(902, number), plain(999, Value(type_, 3, content))),)


def test_a_refused_descriptor_can_be_mended(dnn: Dnn) -> None:
    wrong = integers(unique())
    one = dnn.node(TENSOR, {902: wrong}, finalized=False)
    dnn.tell(b"not so", BAD_PARAM)
    assert (dnn.call("cudnnBackendFinalize", one), dnn.last_words()) == (BAD_PARAM, "not so")
    assert dnn.call("cudnnBackendFinalize", one) == BAD_PARAM  # the same question
    assert dnn.names() == ["dnn_ask"]
    assert dnn.set(one, 902, integers(unique())) == SUCCESS
    dnn.ok("cudnnBackendFinalize", one)
    other = dnn.node(TENSOR, {902: wrong}, finalized=False)
    assert (dnn.call("cudnnBackendFinalize", other), dnn.last_words()) == (BAD_PARAM, "not so")
    assert dnn.names() == ["dnn_ask"]


def test_an_answer_that_the_worker_could_not_give_is_not_kept(dnn: Dnn) -> None:
    one = dnn.node(TENSOR, {902: integers(unique())}, finalized=False)
    dnn.gpu.jitc_fake_next_status(generated_ops.IDS["dnn_ask"], 801)
    assert dnn.call("cudnnBackendFinalize", one) == INTERNAL_ERROR
    dnn.ok("cudnnBackendFinalize", one)
    assert dnn.names() == ["dnn_ask"] * 2


def test_a_failure_that_may_pass_is_not_kept(dnn: Dnn) -> None:
    one = dnn.node(TENSOR, {902: integers(unique())}, finalized=False)
    dnn.tell(b"out of memory", 4004)
    assert (dnn.call("cudnnBackendFinalize", one), dnn.last_words()) == (4004, "out of memory")
    dnn.ok("cudnnBackendFinalize", one)
    assert dnn.names() == ["dnn_ask"] * 2


def asked(name: int, type_: int, requested: int, kind: int, *more: tuple[str, int]) -> Call:
    numbers = (("number", value) for value in (name, type_, requested, kind))
    return Call("cudnnBackendGetAttribute", (("object", 0), *numbers, *more))


def test_an_attribute_is_asked_once(dnn: Dnn) -> None:
    one, found = dnn.graph_tensor(1, unique()), (c_int64 * 4)(9, 9, 9, 9)
    dnn.gpu.take()
    dnn.tell(i64(2, 31, 32, 0))
    dnn.tell(i64(5, 41))
    for _ in range(2):
        assert dnn.get(one, 902, NUMBER, 3, found) == (SUCCESS, 2)
        assert list(found) == [31, 32, 9, 9]
    assert dnn.get(one, 902, NUMBER, 1, found) == (SUCCESS, 5)  # there are more than were asked for
    assert list(found) == [41, 32, 9, 9]
    first, second = map(sent, dnn.gpu.take())
    assert first.call == asked(902, NUMBER, 3, 0, ("result", 8), ("result", 24))
    assert second.call == asked(902, NUMBER, 1, 0, ("result", 8), ("result", 8))


def test_the_count_alone_can_be_asked(dnn: Dnn) -> None:
    one = dnn.graph_tensor(1, unique())
    dnn.gpu.take()
    dnn.tell(i64(6))
    assert dnn.get(one, 202, CHILD, 0, None) == (SUCCESS, 6)
    assert only(dnn.gpu).call == asked(202, CHILD, 0, -1, ("result", 8), ("result", 0))


def test_an_answer_has_an_end(dnn: Dnn) -> None:
    """1 MiB."""
    one = dnn.node(TENSOR, {902: integers(unique())})
    dnn.gpu.take()
    assert dnn.get(one, 902, 3, (1 << 17) + 1, (c_int64 * 1)())[0] == BAD_PARAM
    assert dnn.names() == []


def test_an_attributes_refusal_and_a_short_answer(dnn: Dnn) -> None:
    one, found = dnn.graph_tensor(1, unique()), (c_int64 * 2)(9, 9)
    dnn.tell(b"not set", NOT_SUPPORTED)
    dnn.tell(i64(1))
    for _ in range(2):
        assert (dnn.get(one, 903, NUMBER, 2, found), dnn.last_words()) == ((NOT_SUPPORTED, -1), "not set")
    assert dnn.get(one, 904, NUMBER, 2, found) == (INTERNAL_ERROR, -1)
    assert list(found) == [9, 9]


def fill(dnn: Dnn, heuristics: c_uint64, most: int, kind: int = CONFIG) -> tuple[int, list[c_uint64]]:
    """Count and descriptors."""
    empty = [dnn.make("cudnnBackendCreateDescriptor", kind) for _ in range(most)]
    handles = (c_uint64 * most)(*(one.value for one in empty))
    status, count = dnn.get(heuristics, 202, CHILD, most, handles)
    assert status == SUCCESS
    return count, empty


def test_results_of_heuristics_are_queries_with_their_place(dnn: Dnn) -> None:
    heuristics = dnn.node(HEURISTICS, {200: enum(0, 8), 999: integers(unique())})
    (described,) = only(dnn.gpu).objects
    dnn.tell(i64(2))
    count, configs = fill(dnn, heuristics, 3)
    assert count == 2
    assert only(dnn.gpu).call == asked(202, CHILD, 3, CONFIG, ("result", 8), ("result", 0))
    dnn.ok("cudnnBackendDestroyDescriptor", heuristics)
    dnn.node(PLAN, {400: dnn.handle_value, 401: nodes(configs[1])})
    assert only(dnn.gpu).objects == (
        described,
        Object("backend", (asked(202, CHILD, 3, CONFIG, ("number", 1)),)),
        made(PLAN, (400, Value(0, 1, b""), ("handle", 0)), mentions(401, 1)),
    )
    assert dnn.set(configs[0], 300, integers(1)) == BAD_PARAM  # finalized, as it came
    assert dnn.set(configs[2], 300, integers(unique())) == SUCCESS  # not filled


def test_what_is_to_be_filled_is_of_one_kind(dnn: Dnn) -> None:
    heuristics = dnn.node(HEURISTICS, {999: integers(unique())})
    mixed = [dnn.make("cudnnBackendCreateDescriptor", kind).value for kind in (CONFIG, PLAN)]
    dnn.gpu.take()
    for wrong in (mixed, [mixed[0], 0], [dnn.old("tensor").value]):
        assert dnn.get(heuristics, 202, CHILD, len(wrong), (c_uint64 * len(wrong))(*wrong)) == (BAD_PARAM, -1)
    assert dnn.names() == []

"""Heuristics, engines and plans of the fake cuDNN; what its graph API refuses; the log; fault and capture."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import fake_dnn
import numpy as np
from fake_dnn import Dnn, enum, flag, integers, nodes, pointers, single
from toolkit.fakes import fake_calls

NOTES = ((1303, 11), (1305, 19))
X, Y, BIAS = fake_dnn.X, fake_dnn.Y, 3


def test_heuristics(dnn: Dnn) -> None:
    heuristics = dnn.node(fake_dnn.HEURISTICS, {200: enum(8, 2), 201: nodes(dnn.small_graph())})
    assert dnn.read(heuristics, 202, 15, 0, None) == (0, 4)
    assert [len(dnn.children(heuristics, 202, fake_dnn.CONFIG, most)) for most in (1, 3, 4, 9)] == [1, 3, 4, 4]
    engines = []
    for config in dnn.children(heuristics, 202, fake_dnn.CONFIG, 4):
        (engine,) = dnn.children(config, 300, fake_dnn.ENGINE, 1)
        engines.append(dnn.integer(engine, 1301))
        notes = [dnn.read(engine, name, type_, 10, ctypes.create_string_buffer(40)) for name, type_ in NOTES]
        assert notes == [(0, 0), (0, 0)]
        knobs = dnn.children(config, 302, fake_dnn.CHOICE, 8)
        assert [(dnn.integer(each, 600, 9), dnn.integer(each, 601)) for each in knobs] == [(0, 2)] * (engines[-1] == 1)
    assert engines == [7, 3, 1, 0]


def test_plans_of_the_engines(dnn: Dnn) -> None:
    configs = dnn.configs(dnn.small_graph())
    x = fake_dnn.random(1, 4, 1)
    places = {X: dnn.put(x), Y: dnn.put(np.zeros_like(x))}
    refused = dnn.node(fake_dnn.PLAN, {400: pointers(dnn.handle, type_=0), 401: nodes(configs[0])}, False)
    assert dnn.call("cudnnBackendFinalize", refused) == fake_dnn.NOT_SUPPORTED
    plans = [dnn.plan(each) for each in configs[1:]]
    assert [dnn.integer(each, 402) for each in plans] == [0, 4096, 0]
    assert dnn.execute(plans[0], places) == fake_dnn.NOT_SUPPORTED
    assert not dnn.get(places[Y], x).any()
    workspace = dnn.put(np.zeros(4096, np.uint8))
    assert dnn.execute(plans[1], places) == fake_dnn.NULL
    assert dnn.execute(plans[1], places, workspace) == 0
    assert np.array_equal(dnn.get(places[Y], x), x)
    assert np.all(dnn.get(workspace, np.zeros(4096, np.uint8)) == 0xA5)


def test_engines_and_knobs_by_hand(dnn: Dnn) -> None:
    graph = dnn.small_graph()
    engine = dnn.node(fake_dnn.ENGINE, {1300: nodes(graph), 1301: integers(1)})
    (info,) = dnn.children(engine, 1302, fake_dnn.INFO, 4)
    assert [dnn.integer(info, name, 9 if name == 1200 else 3) for name in (1200, 1202, 1201, 1203)] == [0, 0, 4, 1]
    choice = dnn.node(fake_dnn.CHOICE, {600: enum(9, 0), 601: integers(4)})
    config = dnn.node(fake_dnn.CONFIG, {300: nodes(engine), 302: nodes(choice)})
    assert dnn.integer(dnn.plan(config), 402) == 8192
    beyond = dnn.node(fake_dnn.CHOICE, {600: enum(9, 0), 601: integers(5)})
    wrong = dnn.node(fake_dnn.CONFIG, {300: nodes(engine), 302: nodes(beyond)}, False)
    assert dnn.call("cudnnBackendFinalize", wrong) == fake_dnn.BAD
    unknown = dnn.node(fake_dnn.ENGINE, {1300: nodes(graph), 1301: integers(2)}, False)
    assert dnn.call("cudnnBackendFinalize", unknown) == fake_dnn.NOT_SUPPORTED


def test_children_may_be_destroyed_once_they_are_set(dnn: Dnn) -> None:
    tensors = [dnn.graph_tensor(uid, (1, 4, 1)) for uid in (X, Y)]
    copy = dnn.pointwise(fake_dnn.IDENTITY, *tensors)
    graph = dnn.graph(copy)
    config = dnn.configs(graph)[3]
    plan = dnn.plan(config)
    for each in (*tensors, copy, graph, config):
        dnn.ok("cudnnBackendDestroyDescriptor", each)
    x = fake_dnn.random(1, 4, 1)
    places = {X: dnn.put(x), Y: dnn.put(np.zeros_like(x))}
    assert dnn.execute(plan, places) == 0
    assert np.array_equal(dnn.get(places[Y], x), x)
    assert dnn.call("cudnnBackendDestroyDescriptor", copy) == fake_dnn.BAD


def test_what_setting_an_attribute_refuses(dnn: Dnn) -> None:
    tensor = dnn.make("cudnnBackendCreateDescriptor", fake_dnn.TENSOR)
    assert dnn.set(tensor, 906, single(1)) == fake_dnn.TYPE
    assert dnn.set(tensor, 902, integers(*[1] * 9)) == fake_dnn.TOO_SMALL
    assert dnn.set(tensor, 906, integers(1, 2)) == fake_dnn.TOO_SMALL
    assert dnn.set(tensor, 100, integers(1)) == fake_dnn.NOT_SUPPORTED
    assert dnn.set(0, 906, integers(1)) == fake_dnn.NULL
    assert dnn.set(dnn.handle, 906, integers(1)) == fake_dnn.BAD
    assert dnn.call("cudnnBackendFinalize", tensor) == fake_dnn.BAD  # nothing was set
    graph = dnn.make("cudnnBackendCreateDescriptor", fake_dnn.GRAPH)
    assert dnn.set(graph, 801, nodes(tensor)) == fake_dnn.NOT_FINALIZED
    done = dnn.graph_tensor(X, (1, 4, 1))
    assert dnn.set(graph, 801, nodes(done)) == fake_dnn.BAD  # no operation
    assert dnn.set(graph, 800, pointers(done, type_=0)) == fake_dnn.BAD  # no handle
    assert dnn.set(done, 907, flag(True)) == fake_dnn.BAD
    assert dnn.call("cudnnBackendCreateDescriptor", 14, ctypes.byref(ctypes.c_void_p())) == fake_dnn.NOT_SUPPORTED


def test_what_reading_an_attribute_refuses(dnn: Dnn) -> None:
    out = ctypes.c_int64()
    unfinished = dnn.node(fake_dnn.TENSOR, {906: integers(1)}, False)
    assert dnn.read(unfinished, 906, 3, 1, ctypes.byref(out))[0] == fake_dnn.NOT_INITIALIZED
    done = dnn.graph_tensor(X, (2, 4, 1))
    assert dnn.read(done, 906, 4, 1, ctypes.byref(out))[0] == fake_dnn.TYPE
    assert dnn.read(done, 906, 3, 1, None) == (0, 1)  # how many there are
    dims = (ctypes.c_int64 * 8)()
    assert dnn.read(done, 902, 3, 8, dims) == (0, 3) and list(dims)[:3] == [2, 4, 1]
    config = dnn.configs(dnn.small_graph())[0]
    wrong = (ctypes.c_uint64 * 1)(dnn.make("cudnnBackendCreateDescriptor", fake_dnn.CHOICE))
    assert dnn.read(config, 300, 15, 1, wrong)[0] == fake_dnn.BAD


def test_what_execution_refuses(dnn: Dnn) -> None:
    plan = dnn.plan(dnn.configs(dnn.small_graph())[3])
    place = dnn.put(np.zeros(8, np.float32))
    assert dnn.execute(plan, {X: place}) == fake_dnn.BAD
    assert dnn.execute(plan, {X: place, Y: 0}) == fake_dnn.NULL
    assert dnn.execute(plan, {X: place, Y: place + 4}) == fake_dnn.MISALIGNED
    assert dnn.execute(dnn.pack({X: place}), {X: place, Y: place}) == fake_dnn.BAD
    unfinished = dnn.make("cudnnBackendCreateDescriptor", fake_dnn.PACK)
    assert dnn.call("cudnnBackendExecute", dnn.handle, plan, unfinished) == fake_dnn.NOT_FINALIZED
    twice = dnn.node(fake_dnn.PACK, {1000: integers(X, X), 1001: pointers(place, place)}, False)
    assert dnn.call("cudnnBackendFinalize", twice) == fake_dnn.DUPLICATED


def test_a_wrong_address_is_a_sticky_fault(dnn: Dnn) -> None:
    plan, place = dnn.plan(dnn.configs(dnn.small_graph())[3]), dnn.put(np.zeros(4, np.float32))
    assert dnn.execute(plan, {X: place, Y: place + (1 << 30)}) == 0
    assert dnn.fault() == 700
    assert dnn.execute(plan, {X: place, Y: place}) == fake_dnn.EXECUTION_FAILED


def test_a_plan_in_a_captured_graph(dnn: Dnn) -> None:
    driver, captured = dnn.driver, ctypes.c_void_p()
    x = np.ones((1, 4, 1), np.float32)
    tensors = [dnn.graph_tensor(uid, x.shape) for uid in (X, BIAS, Y)]
    plan = dnn.plan(dnn.configs(dnn.graph(dnn.pointwise(fake_dnn.ADD, tensors[0], tensors[2], tensors[1])))[3])
    place, one = dnn.put(x), dnn.put(x)
    driver.ok("cuStreamBeginCapture_v2", ctypes.c_void_p(dnn.stream), 1)
    assert dnn.execute(plan, {X: place, BIAS: one, Y: place}) == 0
    driver.ok("cuStreamEndCapture", ctypes.c_void_p(dnn.stream), ctypes.byref(captured))
    executable = driver.make("cuGraphInstantiateWithFlags", captured, ctypes.c_uint64(0))
    for _ in range(3):
        driver.ok("cuGraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(dnn.stream))
    assert np.array_equal(dnn.get(place, x), 4 * x)


def test_the_log(dnn: Dnn, fake_log: Path) -> None:
    plan, place = dnn.plan(dnn.configs(dnn.small_graph())[2]), dnn.put(np.zeros(4, np.float32))
    workspace = dnn.space(4096)
    assert dnn.execute(plan, {X: place, Y: place}, workspace) == 0
    calls = [each for each in fake_calls(fake_log) if not each.runs]
    assert len(calls) == len([each for each in calls if each.result == 0])
    (run,) = [each.args for each in calls if each.name == "cudnnBackendExecute"]
    assert run["handle"] == hex(dnn.handle) and run["plan"] == hex(plan) and run["engine"] == 1
    assert run["stream"] == hex(dnn.stream) and run["workspace"] == hex(workspace)
    assert struct.unpack("<2q", bytes.fromhex(run["ids"])) == (X, Y)
    assert struct.unpack("<2Q", bytes.fromhex(run["pointers"])) == (place, place)
    sets = [each.args for each in calls if each.name == "cudnnBackendSetAttribute" and each.args["attribute"] == 902]
    assert {(each["type"], each["count"], each["values"]) for each in sets} == {
        (3, 3, struct.pack("<3q", 1, 4, 1).hex())
    }

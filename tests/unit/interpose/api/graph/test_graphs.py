"""Stream capture and graphs: what is captured, what breaks a capture, and with which error."""

from __future__ import annotations

import threading
from ctypes import CFUNCTYPE, byref, c_int, c_size_t, c_uint64, c_void_p

import pytest
from api_rig import Cuda
from interpose_program import Program
from interpose_types import Dim3, Reply

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
NONE, ACTIVE, INVALID = 0, 1, 2
TOPOLOGY_CHANGED, UPDATE_FAILURE = 2, 910
UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, ISOLATION, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = (
    900, 901, 902, 903, 905, 906, 907, 908,
)  # fmt: skip
ONE, NOTHING = Dim3(1, 1, 1), c_void_p(0)


def stream_of(gpu: Cuda, flags: int = 1) -> c_uint64:
    return c_uint64(gpu.make("cudaStreamCreateWithFlags", flags))


def status_of(gpu: Cuda, stream: c_uint64) -> int:
    status = c_int(-1)
    gpu.ok("cudaStreamIsCapturing", stream, byref(status))
    return status.value


def begin(gpu: Cuda, mode: int = GLOBAL, flags: int = 1) -> c_uint64:
    stream = stream_of(gpu, flags)
    gpu.ok("cudaStreamBeginCapture", stream, mode)
    return stream


def end(gpu: Cuda, stream: c_uint64) -> tuple[int, int]:
    graph = c_uint64(7)
    return int(gpu.cudaStreamEndCapture(stream, byref(graph))), graph.value


def drop(gpu: Cuda, stream: c_uint64) -> None:
    """The capture is invalid: its end says so, and nothing is left of it."""
    assert status_of(gpu, stream) == INVALID
    assert end(gpu, stream) == (INVALIDATED, 0)
    assert [op.name for op in gpu.take()][-2:] == ["capture_end", "graph_destroy"]
    assert status_of(gpu, stream) == NONE


def test_a_graph_is_captured_made_executable_and_launched(gpu: Cuda) -> None:
    kernel, memory = Program(gpu).kernel(), gpu.malloc(4096)
    gpu.ok("cudaLaunchKernel", kernel, ONE, ONE, NOTHING, c_size_t(0), c_uint64(0))
    stream = stream_of(gpu)
    gpu.take()
    gpu.ok("cudaStreamBeginCapture", stream, THREAD_LOCAL)
    assert status_of(gpu, stream) == ACTIVE
    gpu.ok("cudaLaunchKernel", kernel, ONE, ONE, NOTHING, c_size_t(0), stream)
    gpu.ok("cudaMemsetAsync", c_uint64(memory), 0, c_size_t(64), stream)
    gpu.ok("cudaMemcpyAsync", c_uint64(memory + 64), c_uint64(memory), c_size_t(64), 3, stream)
    status, graph = end(gpu, stream)
    count = c_size_t()
    gpu.ok("cudaGraphGetNodes", c_uint64(graph), None, byref(count))
    assert (status, count.value) == (0, 3)
    executable = c_uint64(gpu.make("cudaGraphInstantiateWithFlags", c_uint64(graph), c_uint64(1)))
    gpu.ok("cudaGraphDestroy", c_uint64(graph))
    gpu.ok("cudaGraphUpload", executable, stream)
    gpu.ok("cudaGraphLaunch", executable, c_uint64(0))
    gpu.ok("cudaGraphExecDestroy", executable)
    ops = gpu.take()
    assert [op.name for op in ops] == [
        "capture_begin", "kernel_launch", "fill", "copy_d2d", "capture_end",
        "graph_instantiate", "graph_destroy", "graph_launch", "executable_destroy",
    ]  # fmt: skip
    assert {op.stream for op in ops[:5]} == {stream.value} and ops[7].stream == 0
    assert ops[0].fields["mode"] == THREAD_LOCAL
    assert [op.fields.get("graph") for op in ops[4:7]] == [graph] * 3
    assert (ops[5].fields["flags"], ops[5].fields["executable"]) == (1, executable.value)
    for name, handle in (("cudaGraphLaunch", executable), ("cudaGraphUpload", executable)):
        assert getattr(gpu, name)(handle, stream) == 1
    assert gpu.cudaGraphDestroy(c_uint64(graph)) == 1 and gpu.cudaGraphExecDestroy(executable) == 1


def test_the_driver_api_does_the_same(gpu: Cuda) -> None:
    stream = stream_of(gpu)
    gpu.take()
    gpu.ok("cuStreamBeginCapture_v2", stream, RELAXED)
    graph = c_uint64()
    gpu.ok("cuStreamEndCapture", stream, byref(graph))
    executable = gpu.make("cuGraphInstantiateWithFlags", graph, c_uint64(0))
    gpu.ok("cuGraphLaunch", c_uint64(executable), stream)
    gpu.ok("cuGraphExecDestroy", c_uint64(executable))
    gpu.ok("cuGraphDestroy", graph)
    ops = gpu.take()
    assert [op.name for op in ops] == [
        "capture_begin", "capture_end", "graph_instantiate", "graph_launch", "executable_destroy", "graph_destroy",
    ]  # fmt: skip
    assert [ops[number].stream for number in (0, 1, 3)] == [stream.value] * 3
    assert [ops[number].fields["graph"] for number in (1, 2, 5)] == [graph.value] * 3
    assert [ops[number].fields["executable"] for number in (2, 3, 4)] == [executable] * 3


@pytest.mark.parametrize("update", ["cudaGraphExecUpdate", "cuGraphExecUpdate_v2"])
def test_an_executable_takes_another_graph_of_the_same_size(gpu: Cuda, update: str) -> None:
    """The handle stays; what it launches from now on is the new graph."""
    graphs = []
    for _ in range(2):
        status, graph = end(gpu, begin(gpu))
        assert status == 0
        graphs.append(c_uint64(graph))
    executable = c_uint64(gpu.make("cudaGraphInstantiateWithFlags", graphs[0], c_uint64(8)))
    gpu.take()
    result = (c_uint64 * 3)(7, 7, 7)
    gpu.ok(update, executable, graphs[1], byref(result))
    assert list(result)[1:] == [0, 0] and result[0] & 0xFFFFFFFF == 0
    ops = gpu.take()
    assert [(op.name, op.fields["executable"]) for op in ops] == [
        ("executable_destroy", executable.value), ("graph_instantiate", executable.value),
    ]  # fmt: skip
    assert (ops[1].fields["graph"], ops[1].fields["flags"]) == (graphs[1].value, 8)
    assert getattr(gpu, update)(executable, c_uint64(99), None) == 1
    assert getattr(gpu, update)(c_uint64(99), graphs[1], None) == 1
    gpu.ok("cudaGraphLaunch", executable, c_uint64(0))


def test_cuda_11_s_error_node_is_not_taken_for_flags(gpu: Cuda) -> None:
    stream = begin(gpu)
    _, graph = end(gpu, stream)
    gpu.take()
    gpu.make("cudaGraphInstantiate", c_uint64(graph), c_uint64(0x7FFF12345678))
    gpu.make("cudaGraphInstantiate", c_uint64(graph), c_uint64(8))
    assert [op.fields["flags"] for op in gpu.take()] == [0, 8]


def test_other_streams_join_through_events(gpu: Cuda) -> None:
    fork, join = (c_uint64(gpu.make("cudaEventCreateWithFlags", 2)) for _ in range(2))
    other, stranger = stream_of(gpu), stream_of(gpu)
    stream = begin(gpu)
    gpu.take()
    gpu.ok("cudaEventRecord", fork, stream)
    gpu.ok("cudaStreamWaitEvent", other, fork, 0)
    assert [status_of(gpu, one) for one in (stream, other, stranger)] == [ACTIVE, ACTIVE, NONE]
    gpu.ok("cudaEventRecord", join, other)
    gpu.ok("cudaStreamWaitEvent", stream, join, 0)
    assert [(op.name, op.stream) for op in gpu.take()] == [
        ("event_record", stream.value), ("event_wait", other.value),
        ("event_record", other.value), ("event_wait", stream.value),
    ]  # fmt: skip
    ids = []
    for one in (stream, other):
        status, number = c_int(), c_uint64()
        gpu.ok("cudaStreamGetCaptureInfo", one, byref(status), byref(number), None, None, None, None)
        ids.append((status.value, number.value))
    assert ids[0] == ids[1] and ids[0][0] == ACTIVE and ids[0][1]
    assert gpu.cudaEventQuery(fork) == CAPTURED_EVENT
    assert end(gpu, stream)[0] == 0 and status_of(gpu, other) == NONE
    assert gpu.cudaEventSynchronize(fork) == CAPTURED_EVENT
    assert gpu.cudaStreamWaitEvent(other, fork, 0) == CAPTURED_EVENT
    gpu.ok("cudaEventRecord", fork, other)
    gpu.ok("cudaEventSynchronize", fork)


def waits(gpu: Cuda, stream: c_uint64) -> dict[str, tuple[int, int]]:
    callback = CFUNCTYPE(None, c_void_p)(lambda _: None)
    return {
        "synchronize": (gpu.cudaStreamSynchronize(stream), UNSUPPORTED),
        "query": (gpu.cudaStreamQuery(stream), INVALIDATED),
        "host function": (gpu.cudaLaunchHostFunc(stream, callback, NOTHING), INVALIDATED),
    }


def test_what_waits_for_the_stream_breaks_the_capture(gpu: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    stream = begin(gpu)
    gpu.take()
    assert all(found == expected for found, expected in waits(gpu, stream).values())
    assert gpu.take() == []
    assert "while a CUDA graph is captured: the process cannot wait for a stream in it" in capfd.readouterr().err
    memory = gpu.malloc(64)
    assert gpu.cudaMemsetAsync(c_uint64(memory), 0, c_size_t(64), stream) == INVALIDATED
    drop(gpu, stream)
    gpu.ok("cudaStreamSynchronize", stream)


@pytest.mark.parametrize("what", ["query", "device", "destroy", "malloc", "free", "external record"])
def test_what_cannot_be_captured_is_refused(gpu: Cuda, what: str) -> None:
    memory, event = gpu.malloc(64), c_uint64(gpu.make("cudaEventCreate"))
    stream = begin(gpu)
    calls = {
        "query": lambda: gpu.cudaStreamQuery(stream),
        "device": gpu.cudaDeviceSynchronize,
        "destroy": lambda: gpu.cudaStreamDestroy(stream),
        "malloc": lambda: gpu.cudaMallocAsync(byref(c_uint64()), c_size_t(64), stream),
        "free": lambda: gpu.cudaFreeAsync(c_uint64(memory), stream),
        "external record": lambda: gpu.cudaEventRecordWithFlags(event, stream, 1),
    }
    assert calls[what]() == UNSUPPORTED
    drop(gpu, stream)


@pytest.mark.parametrize("pinned", [True, False])
def test_host_memory_is_not_copied_in_a_capture(gpu: Cuda, pinned: bool, capfd: pytest.CaptureFixture[str]) -> None:
    memory = gpu.malloc(64)
    host = c_uint64(gpu.make("cudaHostAlloc", c_size_t(64), 0)) if pinned else byref(c_uint64())
    for arguments in ((c_uint64(memory), host, c_size_t(8), 1), (host, c_uint64(memory), c_size_t(8), 2)):
        stream = begin(gpu)
        gpu.take()
        assert gpu.cudaMemcpyAsync(*arguments, stream) == UNSUPPORTED
        assert gpu.take() == []
        drop(gpu, stream)
    said = capfd.readouterr().err
    assert ("pinned memory would have to be made at every launch" if pinned else "pageable memory") in said


def test_streams_outside_go_on_as_usual(gpu: Cuda) -> None:
    memory, other = gpu.malloc(64), stream_of(gpu)
    stream = begin(gpu)
    data = c_uint64(5)
    gpu.ok("cudaMemcpyAsync", c_uint64(memory), byref(data), c_size_t(8), 1, other)
    gpu.ok("cudaStreamSynchronize", other)
    gpu.ok("cudaMemcpy", byref(data), c_uint64(memory), c_size_t(8), 2)  # the stream is non-blocking
    gpu.malloc(128)
    assert status_of(gpu, stream) == ACTIVE and end(gpu, stream)[0] == 0


def test_the_default_stream_and_blocking_streams(gpu: Cuda) -> None:
    memory = gpu.malloc(64)
    assert gpu.cudaStreamBeginCapture(c_uint64(0), RELAXED) == UNSUPPORTED
    stream = begin(gpu, flags=0)
    assert gpu.cudaMemset(c_uint64(memory), 0, c_size_t(8)) == IMPLICIT
    drop(gpu, stream)
    event = c_uint64(gpu.make("cudaEventCreate"))
    stream = begin(gpu)
    gpu.ok("cudaEventRecord", event, stream)
    assert gpu.cudaStreamWaitEvent(c_uint64(0), event, 0) == IMPLICIT
    drop(gpu, stream)


def test_events_of_the_outside_and_of_another_capture(gpu: Cuda) -> None:
    outside, inside = (c_uint64(gpu.make("cudaEventCreate")) for _ in range(2))
    stream = begin(gpu)
    gpu.ok("cudaStreamWaitEvent", stream, outside, 0)  # never recorded
    gpu.ok("cudaEventRecord", outside, stream_of(gpu))
    assert gpu.cudaStreamWaitEvent(stream, outside, 0) == ISOLATION
    drop(gpu, stream)
    first, second = begin(gpu), begin(gpu)
    gpu.ok("cudaEventRecord", inside, first)
    assert gpu.cudaStreamWaitEvent(second, inside, 0) == MERGE
    for one in (first, second):
        drop(gpu, one)


def test_who_may_end_a_capture(gpu: Cuda) -> None:
    idle = stream_of(gpu)
    assert end(gpu, idle) == (401, 0)
    stream, event = begin(gpu), c_uint64(gpu.make("cudaEventCreate"))
    assert gpu.cudaStreamBeginCapture(stream, GLOBAL) == 401
    gpu.ok("cudaEventRecord", event, stream)
    gpu.ok("cudaStreamWaitEvent", idle, event, 0)
    assert end(gpu, idle) == (UNMATCHED, 0)
    drop(gpu, stream)
    for mode, expected in ((GLOBAL, WRONG_THREAD), (RELAXED, 0)):
        stream = begin(gpu, mode)
        seen: list[int] = []
        thread = threading.Thread(target=lambda on=stream, out=seen: out.append(end(gpu, on)[0]))
        thread.start()
        thread.join(30)
        assert seen == [expected]
        if expected:
            drop(gpu, stream)


def test_the_device_may_refuse_the_graph(gpu: Cuda) -> None:
    stream = begin(gpu)
    gpu.jitc_fake_next_status(0x0802, 904)  # capture_end: a stream was not joined
    assert end(gpu, stream) == (904, 0) and status_of(gpu, stream) == NONE
    gpu.ok("cudaStreamBeginCapture", stream, GLOBAL)
    _, graph = end(gpu, stream)
    gpu.jitc_fake_next_status(0x0804, 2)
    assert gpu.cudaGraphInstantiate(byref(c_uint64()), c_uint64(graph), c_uint64(0)) == 2


def test_the_graph_under_way_cannot_be_looked_at(gpu: Cuda) -> None:
    status, number, out = c_int(-1), c_uint64(), c_uint64()
    gpu.ok("cudaStreamGetCaptureInfo_v2", c_uint64(0), byref(status), None, byref(out), None, None)
    assert status.value == NONE
    stream = begin(gpu)
    assert gpu.cudaStreamGetCaptureInfo_v3(stream, byref(status), byref(number), byref(out), None, None, None) == 801
    gpu.ok("cuStreamGetCaptureInfo_v2", stream, byref(status), byref(number), None, None, None)
    assert status.value == ACTIVE and end(gpu, stream)[0] == 0


def test_a_step_in_a_capture_is_no_boundary(gpu: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    stream = begin(gpu)
    gpu.take()
    gpu.jitc_step_begin()
    gpu.jitc_step_end(None, c_size_t(0))
    assert not {op.name for op in gpu.take() if op.stream == stream.value} & {"step_begin", "boundary"}
    assert "an optimizer step inside a CUDA graph is no boundary" in capfd.readouterr().err
    assert end(gpu, stream)[0] == 0
    gpu.jitc_step_end(None, c_size_t(0))
    assert "boundary" in [op.name for op in gpu.take()]


def test_operators_in_a_capture(cuda: Cuda, capfd: pytest.CaptureFixture[str]) -> None:
    """On the software device: a call becomes part of the graph; a question that nothing can answer ends the capture."""
    stream, reply, call = begin(cuda), Reply(), b"question"
    cuda.take()
    assert cuda.jitc_operator_call(0, stream, call, c_size_t(8)) == 0
    assert cuda.jitc_operator_query(0, NOTHING, call, c_size_t(8), byref(reply)) == 0  # beside the capture
    cuda.jitc_reply_free(byref(reply))
    assert [(op.name, op.stream) for op in cuda.take()] == [("operator_call", stream.value), ("operator_query", 0)]
    assert status_of(cuda, stream) == ACTIVE
    assert cuda.jitc_operator_query(0, stream, call, c_size_t(8), byref(reply)) == UNSUPPORTED
    assert reply.status == UNSUPPORTED and cuda.take() == []
    assert "the process cannot wait for what an operator computes" in capfd.readouterr().err
    drop(cuda, stream)

"""Streams and events: handles, order, queries, waits."""

from __future__ import annotations

import threading
from ctypes import CFUNCTYPE, byref, c_float, c_int, c_size_t, c_uint64, c_void_p

import pytest
from api_rig import Cuda

NOT_READY, INVALID_HANDLE, NON_BLOCKING, NO_TIMING = 600, 400, 1, 2


def names(cuda: Cuda) -> list[str]:
    return [op.name for op in cuda.take()]


def test_a_stream_is_created_used_and_destroyed_without_waiting(cuda: Cuda) -> None:
    cuda.jitc_fake_hold(1)
    stream = cuda.make("cudaStreamCreateWithPriority", c_int(NON_BLOCKING), c_int(-9))
    address = cuda.malloc(4096)
    cuda.ok("cudaMemsetAsync", c_uint64(address), 0, c_size_t(8), c_uint64(stream))
    cuda.ok("cudaStreamDestroy", c_uint64(stream))
    create, _, fill, destroy = cuda.take()
    assert create.fields == {"handle": stream, "flags": 1, "priority": -5}
    assert (fill.stream, destroy.fields["handle"]) == (stream, stream)


@pytest.mark.parametrize("handle", [3, 0x1234567, 0xFFFFFFFFFFFFFFFF])
def test_an_invented_or_stale_handle_is_an_error_everywhere(cuda: Cuda, handle: int) -> None:
    stale_stream, stale_event = cuda.make("cudaStreamCreate"), cuda.make("cudaEventCreate")
    cuda.ok("cudaStreamDestroy", c_uint64(stale_stream))
    cuda.ok("cudaEventDestroy", c_uint64(stale_event))
    cuda.take()
    for stream in (handle, stale_stream, stale_event):
        assert cuda.cudaStreamSynchronize(c_uint64(stream)) == INVALID_HANDLE
        assert cuda.cudaStreamQuery(c_uint64(stream)) == INVALID_HANDLE
        assert cuda.cudaStreamDestroy(c_uint64(stream)) == INVALID_HANDLE
    for event in (handle, stale_event, stale_stream):
        assert cuda.cudaEventQuery(c_uint64(event)) == INVALID_HANDLE
        assert cuda.cudaEventRecord(c_uint64(event), c_uint64(0)) == INVALID_HANDLE
        assert cuda.cudaStreamWaitEvent(c_uint64(0), c_uint64(event), 0) == INVALID_HANDLE
        assert cuda.cudaEventDestroy(c_uint64(event)) == INVALID_HANDLE
    assert cuda.take() == []


def test_handles_are_not_used_again(cuda: Cuda) -> None:
    seen = set()
    for _ in range(300):
        event = cuda.make("cudaEventCreateWithFlags", c_int(NO_TIMING))
        assert event not in seen and event % 2 == 0 and 0 < event < 1 << 63
        seen.add(event)
        cuda.ok("cudaEventDestroy", c_uint64(event))


def test_an_event_for_other_processes_is_like_others_in_this_one(cuda: Cuda) -> None:
    """The device does not get to know: a worker would take the flag for a mistake, and end the program's session."""
    interprocess = 4
    assert cuda.cudaEventCreateWithFlags(byref(c_uint64()), interprocess) == 1  # has no times, CUDA says
    event = cuda.make("cudaEventCreateWithFlags", c_int(interprocess | NO_TIMING))
    (create,) = cuda.take()
    assert create.fields == {"handle": event, "flags": NO_TIMING}
    assert cuda.cudaIpcGetEventHandle(c_void_p(), c_uint64(event)) == 801


def test_a_query_follows_what_was_executed(cuda: Cuda) -> None:
    stream, event = cuda.make("cudaStreamCreateWithFlags", c_int(NON_BLOCKING)), cuda.make("cudaEventCreate")
    cuda.ok("cudaEventQuery", c_uint64(event))  # never recorded: done
    cuda.jitc_fake_hold(1)
    cuda.ok("cudaEventRecord", c_uint64(event), c_uint64(stream))
    assert cuda.cudaEventQuery(c_uint64(event)) == NOT_READY
    assert cuda.cudaStreamQuery(c_uint64(stream)) == NOT_READY
    assert cuda.cudaGetLastError() == 0  # not ready is no error
    cuda.jitc_fake_hold(0)
    cuda.ok("cudaEventQuery", c_uint64(event))
    cuda.ok("cudaStreamQuery", c_uint64(stream))


def test_synchronize_asks_only_when_it_must(cuda: Cuda) -> None:
    stream, event = cuda.make("cudaStreamCreateWithFlags", c_int(NON_BLOCKING)), cuda.make("cudaEventCreate")
    cuda.ok("cudaEventRecord", c_uint64(event), c_uint64(stream))
    cuda.take()
    cuda.ok("cudaEventSynchronize", c_uint64(event))
    cuda.ok("cudaEventSynchronize", c_uint64(event))
    cuda.ok("cudaStreamSynchronize", c_uint64(stream))
    assert names(cuda) == ["event_synchronize"]


def test_what_is_no_work_of_a_stream_keeps_nobody_waiting(cuda: Cuda) -> None:
    """What a program makes, frees or asks goes beside the streams, as a GPU has it."""
    cuda.ok("cudaStreamSynchronize", c_uint64(0))
    cuda.take()
    cuda.jitc_fake_hold(1)
    event = cuda.make("cudaEventCreate")
    cuda.ok("cudaStreamQuery", c_uint64(0))
    cuda.ok("cudaStreamSynchronize", c_uint64(0))
    assert names(cuda) == ["event_create"]
    cuda.ok("cudaEventRecord", c_uint64(event), c_uint64(0))
    assert cuda.cudaStreamQuery(c_uint64(0)) == NOT_READY


def test_the_default_stream_waits_for_blocking_streams(cuda: Cuda) -> None:
    blocking = cuda.make("cudaStreamCreate")
    cuda.ok("cudaDeviceSynchronize")
    cuda.take()
    cuda.ok("cudaStreamSynchronize", c_uint64(0))
    assert names(cuda) == ["stream_synchronize"]
    cuda.ok("cudaStreamDestroy", c_uint64(blocking))


def test_default_stream_handles_mean_stream_zero(cuda: Cuda) -> None:
    event = cuda.make("cudaEventCreate")
    cuda.take()
    for stream in (0, 1, 2):
        cuda.ok("cudaEventRecord", c_uint64(event), c_uint64(stream))
    assert [op.stream for op in cuda.take()] == [0, 0, 0]


def test_waiting_for_an_event_is_an_op_of_the_waiting_stream(cuda: Cuda) -> None:
    stream, event = cuda.make("cudaStreamCreateWithFlags", c_int(NON_BLOCKING)), cuda.make("cudaEventCreate")
    cuda.ok("cudaStreamWaitEvent", c_uint64(stream), c_uint64(event), 0)
    assert names(cuda) == ["stream_create", "event_create"]  # an event that was never recorded holds nobody up
    cuda.ok("cudaEventRecord", c_uint64(event), c_uint64(0))
    cuda.ok("cudaStreamWaitEvent", c_uint64(stream), c_uint64(event), 0)
    record, wait = cuda.take()
    assert (record.stream, wait.name, wait.stream, wait.fields["event"]) == (0, "event_wait", stream, event)


def test_waiting_for_another_gpus_event_happens_here(cuda: Cuda) -> None:
    event = cuda.make("cudaEventCreate")
    cuda.jitc_fake_hold(1)
    cuda.ok("cudaEventRecord", c_uint64(event), c_uint64(0))
    cuda.ok("cudaSetDevice", 1)
    cuda.take()
    cuda.ok("cudaStreamWaitEvent", c_uint64(0), c_uint64(event), 0)
    assert names(cuda) == ["event_synchronize"]


def test_elapsed_time_needs_two_timed_records(cuda: Cuda) -> None:
    start, end = cuda.make("cudaEventCreate"), cuda.make("cudaEventCreate")
    untimed = cuda.make("cudaEventCreateWithFlags", c_int(NO_TIMING))
    elapsed = c_float()
    assert cuda.cudaEventElapsedTime(byref(elapsed), c_uint64(start), c_uint64(end)) == INVALID_HANDLE
    for event in (start, end, untimed):
        cuda.ok("cudaEventRecord", c_uint64(event), c_uint64(0))
    cuda.ok("cudaEventElapsedTime", byref(elapsed), c_uint64(start), c_uint64(end))
    assert elapsed.value == 1.5
    assert cuda.cudaEventElapsedTime(byref(elapsed), c_uint64(start), c_uint64(untimed)) == INVALID_HANDLE


def test_host_functions_run_after_the_stream(cuda: Cuda) -> None:
    ran: list[int] = []
    callback = CFUNCTYPE(None, c_void_p)(ran.append)
    address = cuda.malloc(64)
    cuda.jitc_fake_hold(1)
    cuda.ok("cudaMemsetAsync", c_uint64(address), 0, c_size_t(64), c_uint64(0))
    cuda.ok("cudaLaunchHostFunc", c_uint64(0), callback, c_void_p(7))
    assert ran == [7] and names(cuda)[-1] == "stream_synchronize"


def test_the_default_stream_is_never_captured(cuda: Cuda) -> None:
    status, mode = c_int(9), c_int(1)
    cuda.ok("cudaStreamIsCapturing", c_uint64(0), byref(status))
    cuda.ok("cudaThreadExchangeStreamCaptureMode", byref(mode))
    assert (status.value, mode.value) == (0, 0)
    assert cuda.cudaStreamBeginCapture(c_uint64(0), 0) == 900
    mode.value = 0
    cuda.ok("cudaThreadExchangeStreamCaptureMode", byref(mode))
    assert mode.value == 1


def test_a_session_that_is_over_says_so_from_then_on(cuda: Cuda) -> None:
    event = cuda.make("cudaEventCreate")
    cuda.ok("cudaEventRecord", c_uint64(event), c_uint64(0))
    cuda.jitc_fake_over(719)
    assert cuda.cudaEventQuery(c_uint64(event)) == 719
    assert cuda.cudaStreamSynchronize(c_uint64(0)) == 719
    assert cuda.cudaEventRecord(c_uint64(event), c_uint64(0)) == 719
    assert cuda.cudaPeekAtLastError() == 719 and cuda.cudaGetLastError() == 719


def test_a_forked_child_may_not_use_cuda(cuda: Cuda) -> None:
    event = cuda.make("cudaEventCreate")
    cuda.take()
    cuda.jitc_fake_forked(1)
    out = c_uint64()
    assert cuda.cudaMalloc(byref(out), c_size_t(64)) == 3
    assert cuda.cudaEventRecord(c_uint64(event), c_uint64(0)) == 3
    assert cuda.cudaGetDeviceCount(byref(c_int())) == 3
    assert cuda.cudaDeviceSynchronize() == 3
    assert cuda.take() == []


def test_threads_do_not_disturb_each_other(cuda: Cuda) -> None:
    failures: list[str] = []

    def work() -> None:
        stream = cuda.make("cudaStreamCreateWithFlags", c_int(NON_BLOCKING))
        for _ in range(200):
            event = c_uint64(cuda.make("cudaEventCreateWithFlags", c_int(NO_TIMING)))
            for name, args in (
                ("cudaEventRecord", (event, c_uint64(stream))),
                ("cudaEventSynchronize", (event,)),
                ("cudaEventQuery", (event,)),
                ("cudaStreamWaitEvent", (c_uint64(stream), event, 0)),
                ("cudaEventDestroy", (event,)),
            ):
                if getattr(cuda, name)(*args):
                    failures.append(name)
            if cuda.cudaEventQuery(event) != INVALID_HANDLE:
                failures.append("stale")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
